/// What a look at some of the bodies of a store has found.
package struct BodyExamination: Sendable, Hashable {
    /// Body files, and rows in which bodies lie.
    package var checked: Int64 = 0
    package var bytes: Int64 = 0
    /// Bodies that are not what was stored. Those of copies are set aside.
    package var damaged: Int64 = 0
    /// Where the next look goes on, in the store's own terms; nil: nothing is left.
    package var next: String?

    package init() {}
}

/// Looks at the bodies of stores, for their soundness. Callable from any task. Throws `not-found` for one that is not attached.
package protocol StoreExamining: Sendable {
    /// Whether this process has both locations of the store, so that `StoreKeeping.compare` can compare them.
    func hasBothSides(_ store: String) throws -> Bool
    /// How many body files and rows there are to be looked at, as far as that is known.
    func bodyCount(of store: String) async throws -> Int64
    /// Compares bodies with their digests: some of those behind `place`, which the look before gave; nil begins.
    func examine(_ store: String, after place: String?) async throws -> BodyExamination
}
