/// What a look at the bodies in a part of a store has found.
package struct BodyExamination: Sendable, Hashable {
    package var checked: Int64 = 0
    package var bytes: Int64 = 0
    /// Bodies that are not what was stored; they are set aside.
    package var damaged: Int64 = 0

    package init() {}
}

/// The bodies of a store are looked at in this many parts, each of which takes a while.
package enum StorePart { package static let count = 256 }

/// Looks at the bodies of stores, for their soundness. Callable from any task. Throws `not-found` for one that is not attached.
package protocol StoreExamining: Sendable {
    /// Whether this process has both locations of the store, so that `StoreKeeping.verify` can compare them.
    func hasBothSides(_ store: String) throws -> Bool
    func bodyCount(of store: String) async throws -> Int64
    /// Compares bodies with their digests: those in the part, from 0.
    func examine(_ store: String, part: Int) async throws -> BodyExamination
}
