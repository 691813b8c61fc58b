import CacheCore
import Synchronization

/// Limits, eviction and retention.
extension StoreTransaction {
    private var copyLimit: Int64 { options.maxStoreSize / 10 * 9 }

    /// Evicts copies until the limits hold; throws where they can't and the change made something grow. What comes with a new
    /// operation, such as the policy of its entry, may use the same room.
    mutating func fit(since before: Totals, bringsOperation: Bool = false) throws {
        let haveCopiesGrown = effects.totals.copies > before.copies
        guard haveCopiesGrown || effects.totals.operations > before.operations else { return }
        let purpose: ContentPurpose = haveCopiesGrown && !bringsOperation ? .copy : .operation
        try makeRoom(for: 0, purpose: purpose, sparing: effects.touched)
        if !isWithinLimits(adding: 0, for: purpose) { throw StoreError.full }
    }

    private func hasTotalRoom(_ bytes: Int64) -> Bool {
        effects.totals.copies + effects.totals.operations + bytes <= options.maxStoreSize
    }

    func isWithinLimits(adding bytes: Int64, for purpose: ContentPurpose) -> Bool {
        hasTotalRoom(bytes) && (purpose == .operation || effects.totals.copies + bytes <= copyLimit)
    }

    /// Entries that operations and open conflicts speak of, this transaction's included.
    var busyKeys: Set<EntryKey> {
        var busy = memory.busy
        for operation in allUnfinished { busy.formUnion(operation.entryKeys) }
        for case .some(let conflict) in effects.conflicts.values { busy.insert(conflict.key) }
        for case .some(let conflict) in earlier.conflicts.values { busy.insert(conflict.key) }
        return busy
    }

    /// Evicts, least recently used first, until `bytes` more would fit, or nothing is left to evict.
    mutating func makeRoom(for bytes: Int64, purpose: ContentPurpose, sparing: Set<EntryKey>) throws {
        guard !isWithinLimits(adding: bytes, for: purpose) else { return }
        try writeUse()
        let busy = busyKeys.union(sparing)
        let statement = try connection.statement(
            "SELECT partition, target FROM entries WHERE evictable = 1 ORDER BY used_at LIMIT ? OFFSET ?")
        var skipped: Int64 = 0
        var reprieved: Set<EntryKey> = []
        while !isWithinLimits(adding: bytes, for: purpose) {
            statement.reset()
            try statement.bind([.integer(256), .integer(skipped)])
            var keys: [EntryKey] = []
            while try statement.step() {
                guard let partition = PartitionID(text: statement.text(0)) else { continue }
                keys.append(EntryKey(partition: partition, target: Target(unchecked: statement.text(1))))
            }
            statement.reset()
            if keys.isEmpty {
                // Then what the next start would have, and this one does not show.
                let saved = try evictableSaved()
                if saved.isEmpty { return }
                for key in saved where !isWithinLimits(adding: bytes, for: purpose) { try forgetSaved(key) }
            }
            for key in keys {
                guard !isWithinLimits(adding: bytes, for: purpose) else { break }
                // The row may be noted under policies that were changed since.
                guard !busy.contains(key), let stored = try storedEntry(key),
                    stored.entry.isEvictable(under: policies)
                else {
                    skipped += 1
                    continue
                }
                if view?.takeUse(of: key) ?? false, reprieved.insert(key).inserted {
                    // The view has answered with it, unseen here: it goes to the end of the order, once.
                    try noteUse(of: key, at: now)
                } else {
                    try evict(stored, key)
                }
            }
        }
    }

    /// Carries out those of the changes that are `evict`.
    mutating func evictAged(_ changes: [StoreChange]) throws {
        var busy: Set<EntryKey>?
        for case .evict(let key, let time) in changes {
            let spared = busy ?? busyKeys
            busy = spared
            guard !spared.contains(key), let stored = try storedEntry(key), stored.entry.goes(ifOlderThan: time) else {
                continue
            }
            try evict(stored, key)
        }
    }

    /// Removes the copies, from the next start too.
    private mutating func evict(_ stored: (entry: Entry, size: Int64), _ key: EntryKey) throws {
        try forgetSaved(key)
        try replace(stored, by: stored.entry.withoutCopies, for: key, isKept: false)
    }

    /// Writes when entries were read, so that those read least recently go first.
    private func writeUse() throws(SQLiteError) {
        let used = memory.state.withLock { state in
            defer { state.used = [:] }
            return state.used
        }
        for (key, time) in used { try noteUse(of: key, at: time) }
    }

    private func noteUse(of key: EntryKey, at time: Double) throws(SQLiteError) {
        try connection.run(
            "UPDATE entries SET used_at = ? WHERE partition = ? AND target = ? AND used_at < ?", .real(time),
            .text(key.partition.text), .text(key.target.text), .real(time))
    }

    /// Removes receipts, closed conflicts, key records and finished actions that are older than `receiptRetention`, and uploads that
    /// nobody has touched for `uploadRetention`; at most 1,000 of each, so that writes don't wait long. True where there may be more.
    mutating func removeOld() throws -> Bool {
        let limit = SQLValue.real(now - options.receiptRetention)
        let operations = try texts("SELECT id FROM finished WHERE finished_at < ? LIMIT 1000", limit)
        for id in operations { try remove(OperationID(id)) }
        let conflicts = try texts("SELECT id FROM conflicts WHERE closed_at < ? LIMIT 1000", limit)
        for id in conflicts { try removeConflict(id) }
        let records = try records("SELECT record FROM key_records WHERE at < ? LIMIT 1000", limit)
        for record in records {
            let old = try KeyRecord(record: record)
            try removeKeyRecord(old.partition, old.key)
        }
        let uploads = try texts(
            "SELECT id FROM uploads WHERE changed_at < ? LIMIT 1000", .real(now - options.uploadRetention))
        for id in uploads { try removeUpload(id) }
        let actions = try texts("SELECT id FROM actions WHERE finished_at < ? LIMIT 1000", limit)
        for id in actions { try removeAction(id) }
        try removeOldStamps(limit)
        return max(operations.count, conflicts.count, records.count, uploads.count, actions.count) == 1_000
    }

    private func texts(_ sql: String, _ value: SQLValue) throws(SQLiteError) -> [String] {
        let statement = try connection.statement(sql)
        try statement.bind([value])
        defer { statement.reset() }
        var texts: [String] = []
        while try statement.step() { texts.append(statement.text(0)) }
        return texts
    }
}
