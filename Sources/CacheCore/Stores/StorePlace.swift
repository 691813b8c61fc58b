/// Where a target is kept at one moment. Another value of the same target means that stores were attached, detached, started or
/// stopped meanwhile.
package struct StorePlace: Sendable, Hashable {
    package enum Access: Sendable, Hashable {
        case open
        /// Nothing is read or kept: requests pass through, and are refused with the code where the origin is unreachable.
        case passing(ProblemCode)
    }

    package var store: String
    /// Counts how often the store was opened, so that one that is attached again is told from before.
    package var opening: Int
    package var access: Access
    /// Whether a queued write of the target waits in the store, which is not there to deliver it.
    package var hasWaitingWrite: Bool

    package init(store: String, opening: Int, access: Access = .open, hasWaitingWrite: Bool = false) {
        self.store = store
        self.opening = opening
        self.access = access
        self.hasWaitingWrite = hasWaitingWrite
    }

    /// In the only store there is.
    package static let alone = StorePlace(store: StoreName.standard, opening: 0)
}

package enum StoreName {
    /// The store that has all targets that no other one has. It can't be detached.
    package static let standard = "default"
}
