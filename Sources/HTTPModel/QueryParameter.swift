/// One parameter of a query, as it stood and decoded.
package struct QueryParameter: Sendable, Hashable {
    /// The piece between two `&`, byte for byte.
    package let raw: Substring
    /// Decoded as forms are: `%XX`, and `+` for a space.
    package let name: String
    /// Decoded likewise; empty where there is no `=`.
    package let value: String

    private init(raw: Substring) {
        self.raw = raw
        let equals = raw.utf8.firstIndex(of: UInt8(ascii: "="))
        name = Percent.decode(raw[..<(equals ?? raw.endIndex)], plusIsSpace: true)
        value = equals.map { Percent.decode(raw[raw.utf8.index(after: $0)...], plusIsSpace: true) } ?? ""
    }

    /// The parameters of a query (what stands behind `?`), in order. Empty pieces are skipped.
    package static func split(_ query: some StringProtocol) -> [QueryParameter] {
        Substring(query).utf8.split(separator: UInt8(ascii: "&")).map { QueryParameter(raw: Substring($0)) }
    }

    /// The query of a target without its `?`; nil where it has none. A fragment does not belong to it.
    package static func query(of target: some StringProtocol) -> Substring? {
        let bytes = Substring(target).utf8.prefix { $0 != UInt8(ascii: "#") }
        return bytes.firstIndex(of: UInt8(ascii: "?")).map { Substring(bytes[bytes.index(after: $0)...]) }
    }
}
