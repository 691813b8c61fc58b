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

    /// Tells of an entry whether operations or open conflicts speak of it, those of this transaction up to now included.
    var isBusy: (EntryKey) -> Bool {
        var here: Set<EntryKey> = []
        for effects in [earlier, effects] {
            for case .some(let stored) in effects.operations.values { here.formUnion(stored.operation.entryKeys) }
            for case .some(let conflict) in effects.conflicts.values { here.insert(conflict.key) }
        }
        return { [memory, here] key in here.contains(key) || memory.isBusy(key) }
    }

    /// How many entries are looked at together, and how many beyond those that have to go.
    private static let pageSize = 256

    /// Evicts, least recently used first, until `bytes` more would fit, or nothing is left to evict; then a few more, so that the next
    /// writes find room.
    mutating func makeRoom(for bytes: Int64, purpose: ContentPurpose, sparing: Set<EntryKey>) throws {
        guard !isWithinLimits(adding: bytes, for: purpose) else { return }
        try writeUse()
        let isBusy = isBusy
        let spare = options.maxStoreSize / 64
        var mayGoBeyond = Self.pageSize
        var reprieved: Set<EntryKey> = []
        var place = UsePlace()
        var isSecondRound = false
        while true {
            let page = try evictable(after: place)
            for (key, next) in page {
                if isWithinLimits(adding: bytes, for: purpose) {
                    if mayGoBeyond == 0 || isWithinLimits(adding: bytes + spare, for: purpose) { return }
                    mayGoBeyond -= 1
                }
                place = next
                // The row may be noted under policies that were changed since.
                guard !sparing.contains(key), !isBusy(key), let stored = try storedEntry(key),
                    stored.entry.isEvictable(under: policies)
                else { continue }
                if view?.takeUse(of: key) ?? false, reprieved.insert(key).inserted {
                    // The view has answered with it, unseen here: it goes to the end of the order, once.
                    try noteUse(of: key, at: now)
                } else {
                    try evict(stored, key)
                }
            }
            if !page.isEmpty { continue }
            if isWithinLimits(adding: bytes, for: purpose) { return }
            if !isSecondRound, !reprieved.isEmpty {
                (place, isSecondRound) = (UsePlace(), true)
                continue
            }
            // Then what the next start would have, and this one does not show.
            let saved = try evictableSaved()
            if saved.isEmpty { return }
            for key in saved where !isWithinLimits(adding: bytes, for: purpose) { try forgetSaved(key) }
        }
    }

    /// A place in the order of use; at first before all.
    private struct UsePlace {
        var time = -Double.infinity
        var row = Int64.min
    }

    /// The next entries that may be evicted, with their places.
    private func evictable(after place: UsePlace) throws(SQLiteError) -> [(key: EntryKey, place: UsePlace)] {
        let statement = try connection.statement(
            """
            SELECT used_at, rowid, partition, target FROM entries
            WHERE evictable = 1 AND (used_at, rowid) > (?, ?) ORDER BY used_at, rowid LIMIT ?
            """)
        try statement.bind([.real(place.time), .integer(place.row), .integer(Int64(Self.pageSize))])
        defer { statement.reset() }
        var found: [(key: EntryKey, place: UsePlace)] = []
        while try statement.step() {
            guard let partition = PartitionID(text: statement.text(2)) else { continue }
            let key = EntryKey(partition: partition, target: Target(unchecked: statement.text(3)))
            found.append((key, UsePlace(time: statement.real(0), row: statement.integer(1))))
        }
        return found
    }

    /// Carries out those of the changes that are `evict`.
    mutating func evictAged(_ changes: [StoreChange]) throws {
        var known: ((EntryKey) -> Bool)?
        for case .evict(let key, let time) in changes {
            let isBusy = known ?? isBusy
            known = isBusy
            guard !isBusy(key), let stored = try storedEntry(key), stored.entry.goes(ifOlderThan: time) else {
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
