/// How the origin is reached. Times are in seconds.
package struct OriginOptions: Sendable {
    package let base: OriginBase
    /// A file of certificates (PEM) to trust in place of the system's.
    package var caFile: String?
    /// For name, connection, proxy and TLS together.
    package var connectTimeout = 3.0
    /// From the last byte of the request to the first byte of the answer.
    package var firstByteTimeout = 30.0
    /// For each step of progress of a body, either way. A slow client does not count.
    package var idleTimeout = 30.0
    /// For the whole transfer, body included; nil: none.
    package var totalTimeout: Double?
    /// How many connections are kept open for reuse.
    package var maxConnections = 256

    /// Checks the base; the rest has defaults. The proxy is taken from the environment (`http_proxy`, `https_proxy`,
    /// `all_proxy`, `no_proxy`), as libcurl reads it.
    package init(base: String) throws(OriginBaseError) {
        self.base = try OriginBase(base)
    }
}
