/// A URI reference in its five parts (RFC 3986 4.1), each byte for byte as it stood.
package struct URLReference: Sendable, Hashable {
    package var scheme: String?
    /// User, host and port.
    package var authority: String?
    package var path: String
    /// Without `?`.
    package var query: String?
    /// Without `#`.
    package var fragment: String?

    /// Takes the text apart by RFC 3986 appendix B; never fails.
    package init(_ text: some StringProtocol) {
        var rest = Substring(text).utf8
        if let hash = rest.firstIndex(of: UInt8(ascii: "#")) {
            fragment = String(Substring(rest[rest.index(after: hash)...]))
            rest = rest[..<hash]
        }
        if let mark = rest.firstIndex(of: UInt8(ascii: "?")) {
            query = String(Substring(rest[rest.index(after: mark)...]))
            rest = rest[..<mark]
        }
        if let colon = rest.firstIndex(where: { !$0.isSchemeByte }), rest[colon] == UInt8(ascii: ":"),
            let first = rest.first, colon != rest.startIndex, first | 0x20 >= UInt8(ascii: "a")
        {
            scheme = String(Substring(rest[..<colon]))
            rest = rest[rest.index(after: colon)...]
        }
        if rest.starts(with: "//".utf8) {
            rest = rest.dropFirst(2)
            let end = rest.firstIndex(of: UInt8(ascii: "/")) ?? rest.endIndex
            authority = String(Substring(rest[..<end]))
            rest = rest[end...]
        }
        path = String(Substring(rest))
    }

    /// The parts put together again (RFC 3986 5.3).
    package var text: String {
        var text = ""
        if let scheme { text += scheme + ":" }
        if let authority { text += "//" + authority }
        text += path
        if let query { text += "?" + query }
        if let fragment { text += "#" + fragment }
        return text
    }

    /// The host of the authority in lower case, brackets kept; nil where there is no authority.
    package var host: String? {
        guard let authority else { return nil }
        return Self.hostAndPort(authority).host.asciiLowercased
    }

    /// The port named, or that of http and https; nil where neither says.
    package var port: Int? {
        guard let authority else { return nil }
        let port = Self.hostAndPort(authority).port
        return port.isEmpty ? defaultPort : Int(port)
    }

    private var defaultPort: Int? {
        switch scheme?.asciiLowercased {
        case "http": 80
        case "https": 443
        default: nil
        }
    }

    private static func hostAndPort(_ authority: String) -> (host: Substring, port: Substring) {
        let bytes = authority.utf8
        let start = bytes.lastIndex(of: UInt8(ascii: "@")).map { bytes.index(after: $0) } ?? bytes.startIndex
        let bracket = bytes[start...].lastIndex(of: UInt8(ascii: "]")) ?? start
        guard let colon = bytes[bracket...].lastIndex(of: UInt8(ascii: ":")) else { return (authority[start...], "") }
        return (authority[start..<colon], authority[bytes.index(after: colon)...])
    }

    /// Whether both have the same scheme, host and port (RFC 9110 4.3.1). False where either is not absolute.
    package func hasSameOrigin(as other: URLReference) -> Bool {
        guard let scheme, let otherScheme = other.scheme, let host, let otherHost = other.host else { return false }
        return scheme.equalsIgnoringASCIICase(otherScheme) && host.hasSameBytes(as: otherHost) && port == other.port
    }

    /// The reference resolved against a base URL (RFC 3986 5.2.2), without dot segments.
    package func resolved(against base: URLReference) -> URLReference {
        var result = self
        if scheme != nil {
            result.path = Self.removingDotSegments(path)
            return result
        }
        result.scheme = base.scheme
        if authority != nil {
            result.path = Self.removingDotSegments(path)
            return result
        }
        result.authority = base.authority
        if path.isEmpty {
            result.path = base.path
            if query == nil { result.query = base.query }
        } else if path.utf8.first == UInt8(ascii: "/") {
            result.path = Self.removingDotSegments(path)
        } else {
            result.path = Self.removingDotSegments(base.merging(path))
        }
        return result
    }

    private func merging(_ relative: String) -> String {
        if authority != nil, path.isEmpty { return "/" + relative }
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return relative }
        return String(path[...slash]) + relative
    }

    /// RFC 3986 5.2.4. `%2e` counts as a dot, since a server may decode it before it looks.
    package static func removingDotSegments(_ path: String) -> String {
        guard path.utf8.contains(UInt8(ascii: ".")) || path.utf8.contains(UInt8(ascii: "%")) else { return path }
        let isRooted = path.utf8.first == UInt8(ascii: "/")
        let parts = path.utf8.dropFirst(isRooted ? 1 : 0)
            .split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).map { Substring($0) }
        var kept: [Substring] = []
        var endsInDirectory = false
        for part in parts {
            let dots = dotCount(part)
            endsInDirectory = dots > 0
            switch dots {
            case 0: kept.append(part)
            case 1: break
            default: _ = kept.popLast()
            }
        }
        if endsInDirectory, isRooted || !kept.isEmpty { kept.append("") }
        return (isRooted ? "/" : "") + kept.joined(separator: "/")
    }

    /// 1 for `.`, 2 for `..`, also with `%2e`; else 0.
    private static func dotCount(_ segment: Substring) -> Int {
        guard segment.utf8.count <= 6 else { return 0 }
        let plain = segment.utf8.contains(UInt8(ascii: "%")) ? Percent.decode(segment) : String(segment)
        return plain == "." ? 1 : plain == ".." ? 2 : 0
    }
}

extension UInt8 {
    fileprivate var isSchemeByte: Bool {
        switch self {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), 0x30...0x39,
            UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."):
            true
        default: false
        }
    }
}
