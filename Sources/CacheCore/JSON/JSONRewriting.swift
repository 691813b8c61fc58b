extension JSONValue {
    /// The document with each string, at any depth, replaced by what the function gives for it; nil keeps it. Names of
    /// members are not touched.
    package func replacingStrings(_ transform: (String) -> JSONValue?) -> JSONValue {
        switch self {
        case .string(let text): transform(text) ?? self
        case .array(let elements): .array(elements.map { $0.replacingStrings(transform) })
        case .object(let members):
            .object(members.map { JSONMember($0.name, $0.value.replacingStrings(transform)) })
        default: self
        }
    }
}
