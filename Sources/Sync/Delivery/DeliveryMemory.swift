package import CacheCore
import Synchronization

/// What delivery remembers between attempts, in this process only. Whatever is lost with it makes delivery more careful, never less.
/// Safe from any task.
package final class DeliveryMemory: Sendable {
    private struct Guarded: Sendable {
        /// Names of the members of a collection before the drain's first create there, and of those made since. nil as a
        /// value: the list could not be read.
        var members: [EntryKey: Set<String>?] = [:]
        /// Rounds of CLIENT_WINS and of encoded tags since the last other outcome.
        var rounds: [OperationID: Int] = [:]
        /// Those whose unknown outcome was recorded with a time that includes `settle`.
        var settled: Set<OperationID> = []
        /// Those whose target held other bytes than the operation before them had sent.
        var diverged: Set<OperationID> = []
    }

    private let guarded = Mutex(Guarded())

    package init() {}

    // MARK: Collections

    /// Whether the collection was looked at in this drain, be it in vain.
    package func hasBaseline(_ collection: EntryKey) -> Bool { guarded.withLock { $0.members[collection] != nil } }

    /// Keeps what the list showed; nil where it could not be read. The first one stays.
    package func keepBaseline(_ names: Set<String>?, of collection: EntryKey) {
        guarded.withLock { state in
            if state.members[collection] == nil { state.members[collection] = .some(names) }
        }
    }

    /// nil where there is none.
    package func knownMembers(of collection: EntryKey) -> Set<String>? {
        guarded.withLock { $0.members[collection] ?? nil }
    }

    /// A member is now an operation's own; false where another has taken it before.
    package func take(member name: String, of collection: EntryKey) -> Bool {
        guarded.withLock { state in
            guard var names = state.members[collection] ?? nil else { return true }
            guard names.insert(name).inserted else { return false }
            state.members[collection] = .some(names)
            return true
        }
    }

    /// A drain has ended: forgets the collections that no unfinished create needs.
    package func keepBaselines(only collections: Set<EntryKey>) {
        guarded.withLock { state in state.members = state.members.filter { collections.contains($0.key) } }
    }

    // MARK: Operations

    package func rounds(of id: OperationID) -> Int { guarded.withLock { $0.rounds[id] ?? 0 } }
    package func isSettled(_ id: OperationID) -> Bool { guarded.withLock { $0.settled.contains(id) } }
    package func markDiverged(_ id: OperationID) { guarded.withLock { _ = $0.diverged.insert(id) } }
    package func isDiverged(_ id: OperationID) -> Bool { guarded.withLock { $0.diverged.contains(id) } }

    /// Takes note of an outcome that is being recorded.
    package func note(_ outcome: DeliveryOutcome, of id: OperationID) {
        guarded.withLock { state in
            if case .rebased = outcome { state.rounds[id, default: 0] += 1 } else { state.rounds[id] = nil }
            if case .unknown = outcome { state.settled.insert(id) } else { state.settled.remove(id) }
            state.diverged.remove(id)
        }
    }
}
