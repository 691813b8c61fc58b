/// The value of If-Match or If-None-Match (RFC 9110 13.1.1, 13.1.2).
package enum EntityTagCondition: Sendable, Hashable {
    /// `*`: any current representation.
    case any
    /// The tags listed. An empty list (a field without a tag) matches nothing, so that a broken If-Match refuses.
    case tags([ETag])

    /// Reads the combined value. Never fails: commas inside quotes belong to the tag, a tag without quotes ends at the comma.
    package init(_ value: String) {
        let trimmed = value.trimmingFieldSpace
        if trimmed == "*" {
            self = .any
            return
        }
        self = .tags(FieldList.split(String(trimmed), backslashEscapes: false).map { ETag(String($0)) })
    }

    /// Reads all lines of the name as one list; nil where there is none.
    package init?(_ fields: HTTPFields, _ name: String) {
        guard let value = fields.combined(name) else { return nil }
        self.init(value)
    }

    /// If-Match: whether a tag listed is strongly the current one. `*` matches: ask only where there is a representation.
    package func matchesStrongly(_ tag: ETag?) -> Bool {
        switch self {
        case .any: true
        case .tags(let tags): tag.map { current in tags.contains { $0.strongMatches(current) } } ?? false
        }
    }

    /// If-None-Match: whether a tag listed is weakly the current one. `*` matches: ask only where there is a representation.
    package func matchesWeakly(_ tag: ETag?) -> Bool {
        switch self {
        case .any: true
        case .tags(let tags): tag.map { current in tags.contains { $0.weakMatches(current) } } ?? false
        }
    }
}
