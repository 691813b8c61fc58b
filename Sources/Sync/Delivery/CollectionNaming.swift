package import CacheCore
package import HTTPModel

/// What a create's answer names as the new member (design 4, 10).
package enum CollectionNaming {
    /// The real target of a create: Location, else Content-Location, else the collection and the id in the body.
    /// nil where the answer names none under the origin.
    package static func newTarget(
        of collection: Target, answer fields: HTTPFields, body: JSONValue?, base: String, rule: CollectionRule
    ) -> Target? {
        for name in ["Location", "Content-Location"] {
            if let reference = fields[name], let target = collection.resolving(reference, under: base),
                target != collection
            {
                return target
            }
        }
        return name(in: body, rule: rule).flatMap { collection.member(named: $0) }
    }

    /// The id in a member's own representation.
    package static func name(in body: JSONValue?, rule: CollectionRule) -> String? {
        body.flatMap { JSONPointer(rule.item)?.value(in: $0) }.flatMap { rule.name(ofObject: $0) }
    }
}
