import HTTPModel

/// A list as the origin sent it, and where its members stand in the bytes (design 3, "Collections").
///
/// Three forms: an array at the top, an array where the collection's rule points, and the parallel arrays of the SDK,
/// `{"items":[…],"uris":[…],"etags":[…]}` (seeds/semantics.md 1.12). All that is no member stays as it is.
package struct ListDocument: Sendable {
    /// The parts of the text, in order.
    package enum Part: Sendable, Hashable {
        case text(Range<Int>)
        /// The elements of the array at that range, brackets not included.
        case column(ListColumn, Range<Int>)
    }

    package let bytes: [UInt8]
    package let target: Target
    package let rule: CollectionRule
    package let parts: [Part]
    private let originBase: String
    private let idPointer: JSONPointer
    private let columns: [ListColumn: Range<Int>]

    /// Whether members are named by their own URIs, not by the list's target and their id.
    package var isParallel: Bool { columns[.uris] != nil }

    /// nil where the bytes are no list of any form. `rule`: of the configuration, or the default.
    package init?(_ bytes: [UInt8], at target: Target, rule: CollectionRule, originBase: String) {
        guard let whole = JSONCursor.whole(bytes) else { return nil }
        if let parallel = Self.parallelColumns(bytes, whole) {
            columns = parallel
        } else if let pointer = JSONPointer(rule.items), let items = JSONCursor.find(pointer, in: bytes, at: whole),
            bytes[items.lowerBound] == UInt8(ascii: "[")
        {
            columns = [.items: items]
        } else {
            return nil
        }
        self.bytes = bytes
        self.target = target
        self.rule = rule
        self.originBase = originBase
        idPointer = JSONPointer(rule.id) ?? JSONPointer(tokens: ["id"])
        var parts: [Part] = []
        var end = 0
        for (column, range) in columns.sorted(by: { $0.value.lowerBound < $1.value.lowerBound }) {
            parts.append(.text(end..<(range.lowerBound + 1)))
            parts.append(.column(column, range))
            end = range.upperBound - 1
        }
        parts.append(.text(end..<bytes.count))
        self.parts = parts
    }

    /// The three arrays, where the object has them, all of one length, and nothing else but `properties`.
    private static func parallelColumns(_ bytes: [UInt8], _ whole: Range<Int>) -> [ListColumn: Range<Int>]? {
        guard ListSign(ofStart: bytes) == .parallel else { return nil }
        var columns: [ListColumn: Range<Int>] = [:]
        for column in ListColumn.allCases {
            guard let range = JSONCursor.find(JSONPointer(tokens: [column.rawValue]), in: bytes, at: whole),
                bytes[range.lowerBound] == UInt8(ascii: "[")
            else { return nil }
            columns[column] = range
        }
        let counts = Set(columns.values.map { range in JSONElements(bytes, of: range).reduce(0) { sum, _ in sum + 1 } })
        return counts.count == 1 ? columns : nil
    }

    /// The members in the list's order.
    package var members: ListMembers {
        func elements(_ column: ListColumn) -> JSONElements? { columns[column].map { JSONElements(bytes, of: $0) } }
        return ListMembers(list: self, values: elements(.items), uris: elements(.uris), etags: elements(.etags))
    }

    fileprivate func member(value: Range<Int>) -> ListMember {
        var target: Target?
        if let id = JSONCursor.find(idPointer, in: bytes, at: value),
            let id = try? JSONValue(parsing: Array(bytes[id])), let name = id.string ?? id.numberText, !name.isEmpty
        {
            target = self.target.member(named: name)
        }
        return ListMember(target: target, value: value)
    }

    fileprivate func member(value: Range<Int>, uri: Range<Int>, etag: Range<Int>) -> ListMember {
        let reference = (try? JSONValue(parsing: Array(bytes[uri])))?.string
        let tag = (try? JSONValue(parsing: Array(bytes[etag])))?.string
        return ListMember(
            target: reference.flatMap { Self.target(ofURI: $0, under: originBase) }, value: value, uri: uri,
            etagText: etag, etag: tag.flatMap { Self.isFieldValue($0) ? $0 : nil })
    }

    /// Whether a tag from a body may stand in a field.
    private static func isFieldValue(_ tag: String) -> Bool {
        !tag.isEmpty && tag.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7F }
    }

    /// A member's URI as a target. It counts from the origin's host, or where it does not lie under the base there, from the
    /// base; without `/` or a scheme at its start as if it had one (seeds/semantics.md 1.12).
    static func target(ofURI uri: String, under base: String) -> Target? {
        let isAbsolute = URLReference(uri).scheme != nil
        let path = isAbsolute || uri.utf8.first == UInt8(ascii: "/") ? uri : "/" + uri
        guard !path.hasPrefix("//"), !path.utf8.contains(UInt8(ascii: "\\")) else { return nil }
        let top = Target(unchecked: "")
        return top.resolving(path, under: base)
            ?? (isAbsolute ? nil : top.resolving(URLReference.url(of: path, under: base), under: base))
    }
}

/// The arrays of a list. Lists of one array have `items` alone.
package enum ListColumn: String, Sendable, Hashable, CaseIterable { case items, uris, etags }

/// One member as its list shows it; ranges are of the list's bytes.
package struct ListMember: Sendable, Hashable {
    /// nil where it bears no id or names a place that is not the origin's.
    package var target: Target?
    package var value: Range<Int>
    package var uri: Range<Int>?
    package var etagText: Range<Int>?
    /// As a field value, where the list gives one.
    package var etag: String?
}

/// The members of a list, one after the other.
package struct ListMembers: Sequence, IteratorProtocol, Sendable {
    fileprivate let list: ListDocument
    fileprivate var values: JSONElements?
    fileprivate var uris: JSONElements?
    fileprivate var etags: JSONElements?

    package mutating func next() -> ListMember? {
        guard let value = values?.next() else { return nil }
        guard let uri = uris?.next(), let etag = etags?.next() else { return list.member(value: value) }
        return list.member(value: value, uri: uri, etag: etag)
    }
}

/// What the first bytes of a JSON text promise.
package enum ListSign: Sendable, Hashable {
    case array
    /// An object that begins as one of parallel arrays does.
    case parallel
    case none

    /// How many bytes are enough, where there is not much space before the first name.
    package static let length: Int64 = 64

    package init(ofStart bytes: some Collection<UInt8>) {
        func afterSpace(_ bytes: some Collection<UInt8>) -> [UInt8] {
            Array(bytes.prefix(Int(Self.length)).drop { $0 == 0x20 || $0 == 0x0A || $0 == 0x0D || $0 == 0x09 })
        }
        let start = afterSpace(bytes)
        switch start.first {
        case UInt8(ascii: "["): self = .array
        case UInt8(ascii: "{"):
            let name = afterSpace(start.dropFirst())
            let names = ListColumn.allCases.map(\.rawValue) + ["properties"]
            self = names.contains { name.starts(with: "\"\($0)\"".utf8) } ? .parallel : .none
        default: self = .none
        }
    }
}
