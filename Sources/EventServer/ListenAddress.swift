/// Why the server can't start.
package struct ServerError: Error, Sendable, CustomStringConvertible {
    package let description: String
    init(_ description: String) { self.description = description }
}

/// Where to listen: `HOST:PORT`, `[V6]:PORT` or `unix:PATH`.
package enum ListenAddress: Sendable, Hashable {
    case tcp(host: String, port: String)
    case unix(path: String)

    package init(parsing text: String) throws(ServerError) {
        if text.hasPrefix("unix:") {
            let path = String(text.dropFirst(5))
            guard !path.isEmpty else { throw ServerError("\(text): unix: needs a path") }
            self = .unix(path: path)
            return
        }
        guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]) else {
            throw ServerError("\(text): an address is HOST:PORT or unix:PATH")
        }
        var host = text[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
        guard !host.isEmpty, text.hasPrefix("[") || !host.contains(":") else {
            throw ServerError("\(text): an address is HOST:PORT or unix:PATH")
        }
        self = .tcp(host: String(host), port: String(port))
    }

    /// The host, without brackets; nil for a Unix socket.
    package var host: String? {
        if case .tcp(let host, _) = self { host } else { nil }
    }

    /// Whether only this machine reaches it. A name that begins as an address does may lead anywhere.
    package var isLoopback: Bool {
        guard let host else { return true }
        let isAddress = host.utf8.allSatisfy { (0x30...0x39).contains($0) || $0 == UInt8(ascii: ".") }
        return host == "localhost" || host == "::1" || isAddress && host.utf8.starts(with: "127.".utf8)
    }
}
