package import CacheCore
import Synchronization

/// What delivery remembers between attempts, in this process only. What must not be lost with it is kept with the operations.
/// Safe from any task.
package final class DeliveryMemory: Sendable {
    private struct Guarded: Sendable {
        var before: [EntryKey: MembersBefore] = [:]
        /// By name. What was made before is found in the receipts.
        var taken: [EntryKey: Set<String>] = [:]
        /// Rounds of CLIENT_WINS and of encoded tags since the last other outcome. A restart begins anew: what was under way then may have
        /// taken effect, and must not count as refused. The steps of the backoff are no rounds: they are the operation's attempts, on disk.
        var rounds: [OperationID: Int] = [:]
        /// Looks in vain since the last other outcome. They are no attempts, but as many steps of the backoff.
        var looks: [OperationID: Int] = [:]
        /// Those whose unknown outcome was recorded with a time that includes `settle`.
        var settled: Set<OperationID> = []
    }

    private let guarded = Mutex(Guarded())

    /// Seconds since 1970. What was under way before is settled `settle` after this.
    package let startedAt: Double

    package init(startedAt: Double) { self.startedAt = startedAt }

    // MARK: Collections

    /// What the list showed before the drain's first create there; nil where it was not looked at.
    package func membersBefore(of collection: EntryKey) -> MembersBefore? {
        guarded.withLock { $0.before[collection] }
    }

    /// Keeps what the list showed. The first one stays: it was read before anything was sent.
    package func keep(_ before: MembersBefore, of collection: EntryKey) -> MembersBefore {
        guarded.withLock { state in
            if let first = state.before[collection] { return first }
            state.before[collection] = before
            return before
        }
    }

    /// Members that operations of this process have made.
    package func takenMembers(of collection: EntryKey) -> Set<String> {
        guarded.withLock { $0.taken[collection] ?? [] }
    }

    /// A member is now an operation's own; false where another has taken it before.
    package func take(member name: String, of collection: EntryKey) -> Bool {
        guarded.withLock { $0.taken[collection, default: []].insert(name).inserted }
    }

    /// A drain has ended: forgets the collections that no unfinished create needs.
    package func keepCollections(only collections: Set<EntryKey>) {
        guarded.withLock { state in
            state.before = state.before.filter { collections.contains($0.key) }
            state.taken = state.taken.filter { collections.contains($0.key) }
        }
    }

    // MARK: Operations

    package func rounds(of id: OperationID) -> Int { guarded.withLock { $0.rounds[id] ?? 0 } }
    package func looks(of id: OperationID) -> Int { guarded.withLock { $0.looks[id] ?? 0 } }
    package func isSettled(_ id: OperationID) -> Bool { guarded.withLock { $0.settled.contains(id) } }

    /// Takes note of an outcome that is being recorded.
    package func note(_ outcome: DeliveryOutcome, of id: OperationID) {
        switch outcome {
        case .notSent, .waitsForCredential: return  // as before
        case .lookedInVain: return guarded.withLock { $0.looks[id, default: 0] += 1 }
        default: break
        }
        guarded.withLock { state in
            state.looks[id] = nil
            if case .rebased = outcome { state.rounds[id, default: 0] += 1 } else { state.rounds[id] = nil }
            if case .unknown = outcome { state.settled.insert(id) } else { state.settled.remove(id) }
        }
    }
}
