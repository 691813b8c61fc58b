package import CacheCore
package import HTTPModel

/// Where the members of a collection are, and what a create's answer names as the new one (design 4, 10).
package enum CollectionNaming {
    /// The first rule whose pattern matches the path, else the default: a top-level array, ids at `/id`.
    package static func rule(for collection: Target, in settings: Settings) -> CollectionRule {
        settings.collections.first { matches($0.path.text, collection.path) } ?? CollectionRule(path: PathPattern("**"))
    }

    /// The real target of a create: Location, else Content-Location, else the collection and the id in the body.
    /// nil where the answer names none under the origin.
    package static func newTarget(
        of collection: Target, answer fields: HTTPFields, body: JSONValue?, base: String, rule: CollectionRule
    ) -> Target? {
        for name in ["Location", "Content-Location"] {
            if let reference = fields[name], let target = OriginTarget.of(reference, at: collection, under: base),
                target != collection
            {
                return target
            }
        }
        guard let body, let item = JSONPointer(rule.item)?.value(in: body),
            let id = JSONPointer(rule.id)?.value(in: item), let name = id.string ?? id.numberText, !name.isEmpty
        else { return nil }
        return member(named: name, of: collection)
    }

    /// The collection's target plus `/` and the id.
    package static func member(named name: String, of collection: Target) -> Target {
        let path = collection.path
        return Target(unchecked: path + (path.hasSuffix("/") ? "" : "/") + Percent.encodeSegment(name))
    }

    /// `*` is one segment, a trailing `**` any rest.
    private static func matches(_ pattern: String, _ path: Substring) -> Bool {
        let wanted = pattern.split(separator: "/")
        let segments = path.split(separator: "/")
        for (index, part) in wanted.enumerated() {
            if part == "**", index == wanted.count - 1 { return true }
            guard index < segments.count, part == "*" || part == segments[index] else { return false }
        }
        return wanted.count == segments.count
    }
}
