/// One member as it stands in the columns of a list: JSON text. `uri` and `etag` are empty in lists of one array.
package struct ListRow: Sendable, Hashable {
    package var item: [UInt8]
    package var uri: [UInt8]
    package var etag: [UInt8]

    package init(item: [UInt8], uri: [UInt8] = [], etag: [UInt8] = []) {
        self.item = item
        self.uri = uri
        self.etag = etag
    }

    package subscript(column: ListColumn) -> [UInt8] {
        switch column {
        case .items: item
        case .uris: uri
        case .etags: etag
        }
    }
}

/// What pending edits make of a list (design 3, "Collections"): members replaced or left out in their places, new ones at the
/// end.
package struct ListChanges: Sendable {
    package enum Change: Sendable {
        case removed
        /// The member's own representation as edited, and the edit's tag.
        case replaced(representation: [UInt8], tag: String)

        /// The edit's tag; none where the member is left out.
        package var tag: String? { if case .replaced(_, let tag) = self { tag } else { nil } }
    }

    package struct Addition: Sendable {
        package var target: Target
        package var representation: [UInt8]
        package var tag: String

        package init(target: Target, representation: [UInt8], tag: String) {
            self.target = target
            self.representation = representation
            self.tag = tag
        }
    }

    package var members: [Target: Change] = [:]
    package var additions: [Addition] = []

    package init() {}

    package var isEmpty: Bool { members.isEmpty && additions.isEmpty }
}

/// The rows of a list with changes laid over, one after the other.
package struct ListRows: Sequence, IteratorProtocol, Sendable {
    private let list: ListDocument
    private let changes: ListChanges
    private var members: ListMembers
    private var additions: ArraySlice<ListChanges.Addition>

    package init(_ list: ListDocument, _ changes: ListChanges = ListChanges()) {
        self.list = list
        self.changes = changes
        members = list.members
        additions = changes.additions[...]
    }

    package mutating func next() -> ListRow? {
        while let member = members.next() {
            guard let change = member.target.flatMap({ changes.members[$0] }) else { return row(member) }
            switch change {
            case .removed: continue
            case .replaced(let representation, let tag):
                var row = row(member)
                // What is no member of this collection's kind can't be shown in its place: the old one stays.
                guard let item = list.item(of: representation) else { return row }
                row.item = item
                if list.isParallel { row.etag = JSONValue.string(tag).bytes }
                return row
            }
        }
        while let addition = additions.popFirst() {
            guard let item = list.item(of: addition.representation) else { continue }
            guard list.isParallel else { return ListRow(item: item) }
            return ListRow(
                item: item, uri: JSONValue.string(addition.target.text).bytes,
                etag: JSONValue.string(addition.tag).bytes)
        }
        return nil
    }

    private func row(_ member: ListMember) -> ListRow {
        func text(_ range: Range<Int>?) -> [UInt8] { range.map { Array(list.bytes[$0]) } ?? [] }
        return ListRow(item: text(member.value), uri: text(member.uri), etag: text(member.etagText))
    }
}

extension ListDocument {
    /// The list's text with these changes.
    package func text(with changes: ListChanges) -> [UInt8] {
        var text: [UInt8] = []
        text.reserveCapacity(bytes.count)
        for part in parts {
            switch part {
            case .text(let range): text += bytes[range]
            case .column(let column, _):
                var isFirst = true
                for row in ListRows(self, changes) {
                    if !isFirst { text.append(UInt8(ascii: ",")) }
                    isFirst = false
                    text += row[column]
                }
            }
        }
        return text
    }

    /// What a list shows of a member's own representation: the object at the rule's pointer; of parallel arrays all of it.
    func item(of representation: [UInt8]) -> [UInt8]? {
        guard let whole = JSONCursor.whole(representation) else { return nil }
        if isParallel { return Array(representation[whole]) }
        guard let pointer = JSONPointer(rule.item) else { return nil }
        return JSONCursor.find(pointer, in: representation, at: whole).map { Array(representation[$0]) }
    }

    /// The inverse: a member's own representation, made from what the list shows.
    package func representation(of member: ListMember) -> [UInt8] {
        var text = Array(bytes[member.value])
        guard !isParallel, let pointer = JSONPointer(rule.item) else { return text }
        for token in pointer.tokens.reversed() {
            text = Array("{".utf8) + JSONValue.string(token).bytes + Array(":".utf8) + text + Array("}".utf8)
        }
        return text
    }
}
