internal import CEventHTTP

/// Limits and deadlines of connections (design 13). Sizes in bytes, times in seconds.
package struct ServerLimits: Sendable {
    /// The request line; 414 above.
    package var line = 8192
    /// Field lines of a request; 431 above, at most 256.
    package var fields = 100
    /// The whole head; 431 above, at most 64 KiB.
    package var head = 65536
    /// `maxBodySize`; 413 above.
    package var body: Int64 = 1 << 40
    /// Open connections; 503 above.
    package var connections: Int64 = 10_000
    /// From the first byte of a request to the end of its head; 408 after.
    package var headTime = 10.0
    /// Between requests, and until the first; closed silently after.
    package var idleTime = 60.0
    /// Without a byte of a body that is waited for.
    package var bodyTime = 30.0
    /// Without a byte of an answer being taken; reset after.
    package var writeTime = 60.0

    package init() {}

    /// The kernel counts milliseconds in 31 bits.
    private static let longest = 2_000_000.0

    var c: hl_limits {
        hl_limits(
            line: UInt32(clamping: line), fields: UInt32(clamping: fields), head: UInt32(clamping: head), body: body,
            connections: connections, head_seconds: min(headTime, Self.longest),
            idle_seconds: min(idleTime, Self.longest), body_seconds: min(bodyTime, Self.longest),
            write_seconds: min(writeTime, Self.longest))
    }
}
