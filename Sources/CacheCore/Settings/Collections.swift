import HTTPModel

extension Settings {
    /// The rule of the collection that a target is, by its path; nil where none is configured for it.
    package func collection(for target: Target) -> CollectionRule? {
        let path = target.path
        return collections.first { $0.path.matches(path) }
    }

    /// The member of that id: the collection's path, `/` and the id, encoded as one segment (design 10, `collections`).
    package func memberTarget(collection: Target, id: String) -> Target {
        let path = collection.path
        let separator = path.utf8.last == UInt8(ascii: "/") ? "" : "/"
        return Target(unchecked: path + separator + Percent.encodeSegment(id))
    }

    /// The rule of the collection that holds a target as its member: that of its path without the last segment.
    package func collection(ofMember target: Target) -> CollectionRule? {
        guard let parent = target.parentPath else { return nil }
        return collections.first { $0.path.matches(parent) }
    }
}

extension Target {
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
}
