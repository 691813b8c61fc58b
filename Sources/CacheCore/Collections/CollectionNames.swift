import HTTPModel

extension Settings {
    /// The rule of the collection that a target is, by its path; nil where none is configured for it.
    package func collection(for target: Target) -> CollectionRule? {
        let path = target.path
        return collections.first { $0.path.matches(path) }
    }

    /// The same, or where none is configured the default: a top-level array, ids at `/id` (design 10, `collections`).
    package func collectionRule(for target: Target) -> CollectionRule { collection(for: target) ?? .byDefault }

    /// The rule of the collection that holds a target as its member: that of its path without the last segment.
    package func collection(ofMember target: Target) -> CollectionRule? {
        guard let parent = target.parentPath else { return nil }
        return collections.first { $0.path.matches(parent) }
    }
}

extension CollectionRule {
    package static let byDefault = CollectionRule(path: PathPattern("**"))

    /// What a member is known by: the text of the string or number at the id pointer; nil where there is none.
    package func name(ofObject object: JSONValue) -> String? {
        guard let id = JSONPointer(id)?.value(in: object), let name = id.string ?? id.numberText, !name.isEmpty else {
            return nil
        }
        return name
    }
}

extension Operation {
    /// The entries whose answers may change with it: its lane, its target, and the lists without a query that hold them. Some may
    /// be named twice.
    package var shownIn: [EntryKey] {
        var keys: [EntryKey] = []
        keys.reserveCapacity(4)
        keys.append(EntryKey(partition: partition, target: target))
        if let temporaryTarget { keys.append(EntryKey(partition: partition, target: temporaryTarget)) }
        if let parent = lane.target.parentPath, parent.utf8.last != UInt8(ascii: "/") {
            keys.append(EntryKey(partition: partition, target: Target(unchecked: String(parent))))
            keys.append(EntryKey(partition: partition, target: Target(unchecked: parent + "/")))
        }
        return keys
    }
}

extension Target {
    /// The member of that id in this collection: the path, `/` and the id, encoded as one segment. nil where nobody could ask
    /// for it: servers take the ids `.` and `..` for other places.
    package func member(named id: String) -> Target? {
        let path = path
        let separator = path.utf8.last == UInt8(ascii: "/") ? "" : "/"
        let member = Target(unchecked: path + separator + Percent.encodeSegment(id))
        return member.isAskable ? member : nil
    }

    /// What a reference in an answer for this target (Location, a link) names; nil where that does not lie under the
    /// origin's base, or nobody could ask for it.
    package func resolving(_ reference: String, under base: String) -> Target? {
        let url = URLReference.resolve(reference, at: text, under: base)
        guard let text = URLReference.originForm(of: url, under: base) else { return nil }
        let target = Target(unchecked: text)
        return target.isAskable ? target : nil
    }

    /// The path without its last segment, and with a `/` at its end where the path has one: `/items/1` gives `/items`,
    /// `/items/1/` gives `/items/`. nil at the top.
    package var parentPath: Substring? {
        let path = path
        let isSlashed = path.utf8.last == UInt8(ascii: "/")
        let trimmed = isSlashed ? Substring(path.utf8.dropLast()) : path
        guard let slash = trimmed.utf8.lastIndex(of: UInt8(ascii: "/")) else { return nil }
        let end = isSlashed ? trimmed.utf8.index(after: slash) : slash
        return end == trimmed.startIndex || isSlashed && slash == trimmed.startIndex ? nil : trimmed[..<end]
    }

    /// Whether this is a member of the collection with that path: one segment more, without a query.
    package func isMember(ofPath path: some StringProtocol) -> Bool {
        let path = Substring(path).utf8
        let prefix = path.last == UInt8(ascii: "/") ? path.dropLast() : path
        guard text.utf8.starts(with: prefix) else { return false }
        var rest = text.utf8.dropFirst(prefix.count)
        guard rest.popFirst() == UInt8(ascii: "/"), !rest.isEmpty else { return false }
        return !rest.contains { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") }
    }
}
