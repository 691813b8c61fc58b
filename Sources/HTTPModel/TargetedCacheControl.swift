extension CacheControl {
    /// The directives of a targeted field such as CDN-Cache-Control (RFC 9213 2.1): a structured dictionary. nil where it is
    /// empty or malformed; it is to be ignored then (2.2). Directives of the wrong type count in the stricter way, as in
    /// Cache-Control: a lifetime that is no integer is 0.
    package init?(targeted field: String) {
        guard let dictionary = SFDictionary(parsing: field), !dictionary.entries.isEmpty else { return nil }
        self.init()
        for entry in dictionary.entries {
            switch entry.member.item?.value {
            case .boolean(false): continue
            case .boolean(true): apply(name: entry.name, argument: .none)
            case .integer(let value): apply(name: entry.name, argument: .text(String(value)))
            case .string(let text) where Self.listsNames(entry.name):
                apply(name: entry.name, argument: .text(text))
            case .token(let text) where Self.listsNames(entry.name):
                apply(name: entry.name, argument: .text(text))
            default: apply(name: entry.name, argument: .unreadable)
            }
        }
    }

    private static func listsNames(_ directive: String) -> Bool { directive == "no-cache" || directive == "private" }
}
