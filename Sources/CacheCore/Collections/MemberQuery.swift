import HTTPModel

/// What `Sync-Filter` and `Sync-Sort` ask of a list's members (design 3, "Collections").
///
/// A term is `path operator value`; terms are joined by `,` and must all hold. A path is names joined by `.`, or a JSON pointer;
/// the value is a string, a number, true, false or null in JSON. A member whose value is of another type, or absent, does not
/// match, but for `!= null`, which holds for each value that is there and not null. Strings are ordered by their bytes.
package struct MemberQuery: Sendable, Hashable {
    package enum Comparison: String, Sendable, Hashable, CaseIterable {
        case equal = "="
        case notEqual = "!="
        case less = "<"
        case lessOrEqual = "<="
        case greater = ">"
        case greaterOrEqual = ">="
    }

    package struct Term: Sendable, Hashable {
        package var path: JSONPointer
        package var comparison: Comparison
        /// A string, number, boolean or null.
        package var value: JSONValue
    }

    /// Members are ordered by the value at the path: numbers before strings before booleans, and last, in either direction, those
    /// with anything else or nothing. Members that are equal keep the list's order.
    package struct Key: Sendable, Hashable {
        package var path: JSONPointer
        package var isDescending: Bool
    }

    package private(set) var terms: [Term] = []
    package private(set) var keys: [Key] = []

    /// How many terms, and how many keys, one query may have.
    private static let limit = 32

    /// Reads the two fields; nil stands for one that is absent. Throws `bad-query` with what can't be read.
    package init(filter: String?, sort: String?) throws(Problem) {
        if let filter { terms = try Self.terms(filter.fieldBytes) }
        if let sort { keys = try Self.keys(sort.fieldBytes) }
        guard terms.count <= Self.limit, keys.count <= Self.limit else {
            throw Self.refusal("At most \(Self.limit) terms and \(Self.limit) sort keys are taken.")
        }
    }

    private static func refusal(_ detail: String) -> Problem { Problem(.badQuery, detail) }

    // MARK: Sync-Filter

    private static func terms(_ bytes: [UInt8]) throws(Problem) -> [Term] {
        var terms: [Term] = []
        var cursor = JSONCursor(bytes)
        repeat {
            terms.append(try term(&cursor))
            cursor.passSpace()
        } while cursor.pass(byte: UInt8(ascii: ","))
        guard cursor.current == nil else {
            throw refusal("Sync-Filter: after term \(terms.count) a comma must follow. Text is written in JSON quotes.")
        }
        return terms
    }

    private static func term(_ cursor: inout JSONCursor) throws(Problem) -> Term {
        let rest = cursor.bytes[cursor.index...]
        let end = rest.firstIndex { "=!<>,".utf8.contains($0) } ?? rest.endIndex
        let path = try path(rest[..<end], in: "Sync-Filter")
        guard let comparison = comparison(cursor.bytes[end...]) else {
            throw refusal("Sync-Filter: after \(path) comes one of = != < <= > >= and a value.")
        }
        cursor = JSONCursor(cursor.bytes, at: end + comparison.rawValue.utf8.count)
        guard let range = cursor.passValue(), let value = try? JSONValue(parsing: Array(cursor.bytes[range])) else {
            throw refusal(
                "Sync-Filter: the value for \(path) is no JSON. Write text in double quotes; numbers, true, false, null as they are."
            )
        }
        switch value {
        case .array, .object: throw refusal("Sync-Filter: \(path) can't be compared with an array or object.")
        case .bool, .null:
            guard comparison == .equal || comparison == .notEqual else {
                throw refusal("Sync-Filter: \(path) can only be = or != to true, false and null.")
            }
        case .string, .number: break
        }
        return Term(path: path, comparison: comparison, value: value)
    }

    /// The longest operator that the bytes begin with.
    private static func comparison(_ bytes: ArraySlice<UInt8>) -> Comparison? {
        Comparison.allCases.filter { bytes.starts(with: $0.rawValue.utf8) }.max {
            $0.rawValue.count < $1.rawValue.count
        }
    }

    // MARK: Sync-Sort

    private static func keys(_ bytes: [UInt8]) throws(Problem) -> [Key] {
        var keys: [Key] = []
        for part in bytes.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false) {
            let key = trimmed(part)
            let isDescending = key.first == UInt8(ascii: "-")
            let name = isDescending ? key.dropFirst() : key
            // No member would have it, and the list would stay as it is.
            guard name.first == UInt8(ascii: "/") || !name.contains(UInt8(ascii: " ")) else {
                throw refusal(
                    "Sync-Sort: a key is a path, with - before it for the other direction, as in Sync-Sort: name, -price. "
                        + "A name with a space is written as /first name.")
            }
            keys.append(Key(path: try path(name, in: "Sync-Sort"), isDescending: isDescending))
        }
        return keys
    }

    // MARK: Paths

    private static func path(_ bytes: ArraySlice<UInt8>, in field: String) throws(Problem) -> JSONPointer {
        guard let text = String(validating: trimmed(bytes), as: UTF8.self), !text.isEmpty else {
            throw refusal("\(field): a path is missing. Name a member as in price, address.city or /address/city.")
        }
        let pointer =
            text.utf8.first == UInt8(ascii: "/")
            ? JSONPointer(text)
            : JSONPointer(tokens: text.split(separator: ".", omittingEmptySubsequences: false).map { String($0) })
        guard let pointer, !pointer.tokens.contains(where: { !isName($0) }) else {
            throw refusal("\(field): \(text) is no path. Names must not be empty or hold quotes or backslashes.")
        }
        guard pointer.tokens.count(where: { $0.utf8.allSatisfy { $0 &- 0x30 < 10 } }) <= 3 else {
            throw refusal("\(field): \(text) has more than three numbers in its path.")
        }
        return pointer
    }

    /// What SQLite's JSON paths can name.
    private static func isName(_ token: String) -> Bool {
        !token.isEmpty && !token.utf8.contains { $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: "\\") || $0 < 0x20 }
    }

    private static func trimmed(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
        let start = bytes.drop(while: isSpace)
        let end = start.lastIndex { !isSpace($0) }.map { $0 + 1 } ?? start.startIndex
        return start[..<end]
    }
}
