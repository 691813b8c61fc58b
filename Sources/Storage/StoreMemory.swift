import CacheCore
import Synchronization

/// Sizes in bytes and counts that the store keeps in one row.
struct Totals: Equatable {
    var copies: Int64 = 0
    var operations: Int64 = 0
    var entries: Int64 = 0
    var lastSequence: Int64 = 0

    /// Adds the bytes of a body with that many rows that refer to it, of which `held` are no entries. A body counts once: for
    /// the operations where one needs it, else for the copies.
    mutating func count(_ bytes: Int64, references: Int64, held: Int64) {
        if held > 0 {
            operations += bytes
        } else if references > 0 {
            copies += bytes
        }
    }
}

/// An operation and where it lies.
struct StoredOperation: Sendable {
    var operation: Operation
    /// The number of its row.
    var row: Int64
    /// Bytes of the row's record, by which the totals count it.
    var size: Int64
    /// Whether its row is as it was before the operation was claimed, and `sending` says that it was.
    var isClaimed = false
}

/// What the store knows without asking the database: unfinished operations, open conflicts, totals. Shows what is committed.
final class StoreMemory: Sendable {
    struct State {
        private(set) var operations: [OperationID: StoredOperation] = [:]
        /// Their ids in order, with some that have gone; nil before anybody lists them.
        private var listed: [OperationID]?
        /// By the keys that don't tell the id.
        private var byKey: [OperationKey: [OperationID]] = [:]
        private(set) var conflicts: [String: Conflict] = [:]
        /// How many unfinished operations and open conflicts speak of each entry.
        private var busy: [EntryKey: Int] = [:]
        var totals = Totals()
        /// Whether the last transaction was lost as a whole.
        var isFailing = false
        /// Transactions committed since the start.
        var transactions = 0
        /// How many `EntryIntake` were begun since the start.
        var intakes: Int64 = 0
        /// Transactions of all processes, as last seen, where several have the database open.
        var commits: Int64 = -1
        /// When entries were last read, not yet written.
        var used: [EntryKey: Double] = [:]

        /// Puts an unfinished operation, or takes one out.
        mutating func set(_ stored: StoredOperation?, for id: OperationID) {
            let old = operations[id]?.operation
            let operation = stored?.operation
            operations[id] = stored
            if listed != nil, old == nil, stored != nil { list(id) }
            // Mostly only its state has changed.
            if let old, let operation, old.partition == operation.partition, old.target == operation.target,
                old.temporaryTarget == operation.temporaryTarget, old.idempotencyKey == operation.idempotencyKey,
                old.mergedKeys == operation.mergedKeys
            {
                return
            }
            if let old {
                count(old.entryKeys, -1)
                for key in old.indexedKeys {
                    let key = OperationKey(partition: old.partition, key: key)
                    if byKey[key] == [id] { byKey[key] = nil } else { byKey[key]?.removeAll { $0 == id } }
                }
            }
            guard let operation else { return }
            count(operation.entryKeys, 1)
            for key in operation.indexedKeys {
                let key = OperationKey(partition: operation.partition, key: key)
                if byKey[key]?.contains(id) != true { byKey[key, default: []].append(id) }
            }
        }

        /// Ids mostly come in order.
        private mutating func list(_ id: OperationID) {
            if let last = listed?.last, last >= id { listed = nil } else { listed?.append(id) }
        }

        /// Up to `limit` unfinished operations whose ids follow `id`, in order of id.
        mutating func operations(
            after id: OperationID, limit: Int, where isMeant: (Operation) -> Bool
        ) -> [Operation] {
            var ids = listed ?? []
            if listed == nil || ids.count > 2 * operations.count + 1_024 {
                ids = operations.keys.sorted()
                listed = ids
            }
            var found: [Operation] = []
            for id in ids[ids.firstIndex(behind: id)...] {
                guard found.count < limit else { break }
                if let operation = operations[id]?.operation, isMeant(operation) { found.append(operation) }
            }
            return found
        }

        /// Puts an open conflict, or takes one out.
        mutating func set(_ conflict: Conflict?, for id: String) {
            if let old = conflicts[id] { count([old.key], -1) }
            if let conflict { count([conflict.key], 1) }
            conflicts[id] = conflict
        }

        private mutating func count(_ keys: Set<EntryKey>, _ change: Int) {
            for key in keys {
                let count = busy[key, default: 0] + change
                busy[key] = count > 0 ? count : nil
            }
        }

        func isBusy(_ key: EntryKey) -> Bool { busy[key] != nil }

        /// The newest unfinished operation that has the key as its own or a merged one.
        func operation(partition: PartitionID, key: String) -> Operation? {
            let ids =
                (byKey[OperationKey(partition: partition, key: key)] ?? [])
                + [IDs.operation(ofKey: key)].compactMap { $0 }
            return ids.compactMap { operations[$0]?.operation }
                .filter { $0.partition == partition && $0.keys.contains(key) }
                .max { $0.sequence < $1.sequence }
        }
    }
    struct OperationKey: Hashable {
        var partition: PartitionID
        var key: String
    }

    let state = Mutex(State())
    let known = KnownEntries()

    /// Remembers that an entry was read; written only when copies must go.
    func noteUse(of key: EntryKey, at time: Double) {
        state.withLock { state in
            if state.used.count >= 65_536 { state.used.removeAll(keepingCapacity: true) }
            state.used[key] = time
        }
    }

    /// Whether an entry must not lose its copies: whether operations or open conflicts speak of it.
    func isBusy(_ key: EntryKey) -> Bool { state.withLock { $0.isBusy(key) } }
}

extension [OperationID] {
    /// Where the first one that follows `id` stands in what is in order.
    fileprivate func firstIndex(behind id: OperationID) -> Int {
        var start = 0
        var end = count
        while start < end {
            let middle = (start + end) / 2
            if self[middle] <= id { start = middle + 1 } else { end = middle }
        }
        return start
    }
}
