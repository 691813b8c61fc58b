extension JSONValue: Hashable {
    /// Exact: text of numbers, order of members, bytes of strings.
    package static func == (first: JSONValue, second: JSONValue) -> Bool {
        switch (first, second) {
        case (.null, .null): true
        case (.bool(let a), .bool(let b)): a == b
        case (.number(let a), .number(let b)): a == b
        case (.string(let a), .string(let b)): a.isSameText(as: b)
        case (.array(let a), .array(let b)): a == b
        case (.object(let a), .object(let b)): a == b
        default: false
        }
    }

    package func hash(into hasher: inout Hasher) {
        switch self {
        case .null: hasher.combine(0)
        case .bool(let value): hasher.combine(value)
        case .number(let text), .string(let text): hasher.combine(text)
        case .array(let elements): hasher.combine(elements)
        case .object(let members): hasher.combine(members)
        }
    }

    /// Whether both mean the same: numbers by their exact value (`1.0` is `1`, `1e2` is `100`), objects whatever the order of
    /// their members and by the last of each name, strings by their characters' code points (RFC 6902 4.6).
    package func isEquivalent(to other: JSONValue) -> Bool {
        switch (self, other) {
        case (.number(let a), .number(let b)): return a == b || JSONDecimal(a) == JSONDecimal(b)
        case (.array(let a), .array(let b)):
            return a.count == b.count && zip(a, b).allSatisfy { $0.isEquivalent(to: $1) }
        case (.object(let a), .object(let b)):
            let first = JSONMembers(a)
            let second = JSONMembers(b)
            return first.count == second.count
                && first.allSatisfy { name, value in second[name]?.isEquivalent(to: value) ?? false }
        default: return self == other
        }
    }
}

/// The members of an object by name, the last of each name; in the order in which names first appear.
package struct JSONMembers: Sequence {
    private var order: [String] = []
    private var values: [JSONName: JSONValue]

    package init(_ members: [JSONMember]) {
        values = Dictionary(minimumCapacity: members.count)
        for member in members where values.updateValue(member.value, forKey: JSONName(member.name)) == nil {
            order.append(member.name)
        }
    }

    package var count: Int { order.count }
    package subscript(name: String) -> JSONValue? { values[JSONName(name)] }

    package func makeIterator() -> some IteratorProtocol<(name: String, value: JSONValue)> {
        order.lazy.map { (name: $0, value: values[JSONName($0)]!) }.makeIterator()
    }
}

/// The name of a member as a key, compared by bytes.
package struct JSONName: Hashable, Sendable {
    package let text: String

    package init(_ text: String) { self.text = text }

    package static func == (first: JSONName, second: JSONName) -> Bool { first.text.isSameText(as: second.text) }
    package func hash(into hasher: inout Hasher) { hasher.combine(text) }
}
