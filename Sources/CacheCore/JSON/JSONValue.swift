import HTTPModel

/// A JSON value that gives back what it was read from: numbers keep their exact text, objects the order of their members and
/// those of one name, strings every character (RFC 8259).
///
/// A lone surrogate (`\ud800`), which no `String` can hold, is kept as a private scalar and written as the escape again; see
/// `JSONText`. `==` is exact (text of numbers, order of members); `isEquivalent(to:)` compares what is meant.
package enum JSONValue: Sendable {
    case null
    case bool(Bool)
    /// The text as it stood, e.g. `1.50` or `1e2`.
    case number(String)
    case string(String)
    case array([JSONValue])
    case object([JSONMember])
}

/// One member of an object.
package struct JSONMember: Sendable, Hashable {
    package var name: String
    package var value: JSONValue

    package init(_ name: String, _ value: JSONValue) {
        self.name = name
        self.value = value
    }

    package static func == (first: JSONMember, second: JSONMember) -> Bool {
        first.name.isSameText(as: second.name) && first.value == second.value
    }
}

// MARK: Reading

extension JSONValue {
    package var isNull: Bool { if case .null = self { true } else { false } }
    package var isObject: Bool { if case .object = self { true } else { false } }
    package var isArray: Bool { if case .array = self { true } else { false } }

    package var bool: Bool? { if case .bool(let value) = self { value } else { nil } }
    package var string: String? { if case .string(let value) = self { value } else { nil } }
    package var array: [JSONValue]? { if case .array(let value) = self { value } else { nil } }
    package var members: [JSONMember]? { if case .object(let value) = self { value } else { nil } }
    /// The exact text of a number.
    package var numberText: String? { if case .number(let text) = self { text } else { nil } }

    /// The number where it is a whole one that fits, however it is written (`1.0`, `1e2`).
    package var int: Int? { numberText.flatMap { Int($0) ?? JSONDecimal($0)?.int } }
    /// The number as the nearest Double; infinite ones are nil.
    package var double: Double? { numberText.flatMap { Double($0) }.flatMap { $0.isFinite ? $0 : nil } }

    /// The member of that name, the last one where several bear it; nil where there is none or this is no object. Setting
    /// replaces the last one in its place, and drops others of the name, or appends; setting nil removes all of the name. On a value that is no object,
    /// setting makes it one.
    package subscript(name: String) -> JSONValue? {
        get {
            guard case .object(let members) = self else { return nil }
            return members.last { $0.name.isSameText(as: name) }?.value
        }
        set {
            var members = self.members ?? []
            self = .null  // so that the array is not shared while it changes
            if let newValue {
                if let index = members.lastIndex(where: { $0.name.isSameText(as: name) }) {
                    members[index].value = newValue
                    if members[..<index].contains(where: { $0.name.isSameText(as: name) }) {
                        members[..<index].removeAll { $0.name.isSameText(as: name) }
                    }
                } else {
                    members.append(JSONMember(name, newValue))
                }
            } else {
                members.removeAll { $0.name.isSameText(as: name) }
            }
            self = .object(members)
        }
    }

    /// The element at the index; nil where there is none or this is no array.
    package subscript(index: Int) -> JSONValue? {
        guard case .array(let elements) = self, elements.indices.contains(index) else { return nil }
        return elements[index]
    }
}

// MARK: Building

extension JSONValue: ExpressibleByNilLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByFloatLiteral, ExpressibleByStringInterpolation, ExpressibleByArrayLiteral,
    ExpressibleByDictionaryLiteral
{
    package init(nilLiteral: ()) { self = .null }
    package init(booleanLiteral value: Bool) { self = .bool(value) }
    package init(integerLiteral value: Int) { self = .number(String(value)) }
    package init(floatLiteral value: Double) { self.init(value) }
    package init(stringLiteral value: String) { self = .string(value) }
    package init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
    package init(dictionaryLiteral elements: (String, JSONValue)...) {
        self = .object(elements.map { JSONMember($0, $1) })
    }

    package init(_ value: Bool) { self = .bool(value) }
    package init(_ value: String) { self = .string(value) }
    package init(_ value: some BinaryInteger) { self = .number(String(value)) }
    /// A whole number is written without a point. What JSON has no number for (infinity, NaN) becomes null.
    package init(_ value: Double) {
        if !value.isFinite {
            self = .null
        } else if value.rounded() == value, value.magnitude < 9_007_199_254_740_992 {
            self = .number(String(Int64(value)))
        } else {
            self = .number("\(value)")
        }
    }

    /// An object of the members, in order: `.object(["id": "7", "size": JSONValue(size)])`.
    package static func object(_ members: KeyValuePairs<String, JSONValue>) -> JSONValue {
        .object(members.map { JSONMember($0.key, $0.value) })
    }

    /// An object of the members that are not nil, in order.
    package static func object(omittingNil members: KeyValuePairs<String, JSONValue?>) -> JSONValue {
        .object(members.compactMap { member in member.value.map { JSONMember(member.key, $0) } })
    }

    /// An array of strings.
    package static func strings(_ texts: some Sequence<String>) -> JSONValue { .array(texts.map { .string($0) }) }
}

extension String {
    /// Equality by bytes, quick where the texts differ. (`==` alone takes canonically equivalent texts for equal.)
    func isSameText(as other: String) -> Bool { self == other && hasSameBytes(as: other) }
}
