import CacheCore

/// What was saved and what was not (design 11, cache modes).
///
/// Where copies are not saved as they are written, `unsaved` has for each entry that has changed what it was when it was last
/// saved. A start puts that back; saving empties the table. Both are one transaction, so that a crash leaves the old or the new.
extension StoreTransaction {
    /// Notes what the entry was, before its first change since the last save. True where the note now holds the references of
    /// `stored`.
    func keepSaved(_ key: EntryKey, _ stored: (entry: Entry, size: Int64)?) throws -> Bool {
        guard mode == .manualSaving || mode == .initialized, try saved(key) == nil else { return false }
        try connection.run(
            "INSERT INTO unsaved VALUES(?, ?, ?, ?)", .text(key.partition.text), .text(key.target.text),
            .integer(stored?.entry.isEvictable(under: policies) ?? false ? 1 : 0),
            stored.map { .blob($0.entry.record) } ?? .null)
        return stored != nil
    }

    /// What the entry was when it was last saved, where it has changed since: an entry without copies where it was not there.
    private func saved(_ key: EntryKey) throws -> Entry? {
        let statement = try connection.statement("SELECT record FROM unsaved WHERE partition = ? AND target = ?")
        try statement.bind([.text(key.partition.text), .text(key.target.text)])
        defer { statement.reset() }
        guard try statement.step() else { return nil }
        return statement.isNull(0) ? Entry(key: key) : try Entry(key: key, record: statement.blob(0))
    }

    /// Lets go of what was saved of an entry: what makes room is gone from the next start too.
    mutating func forgetSaved(_ key: EntryKey) throws {
        guard let entry = try saved(key) else { return }
        try refer(to: [], insteadOf: entry.contents, held: false)
        try connection.run(
            "DELETE FROM unsaved WHERE partition = ? AND target = ?", .text(key.partition.text),
            .text(key.target.text))
    }

    /// Entries that were saved and may go to make room, some at a time.
    func evictableSaved() throws -> [EntryKey] {
        let statement = try connection.statement(
            "SELECT partition, target FROM unsaved WHERE evictable = 1 AND record IS NOT NULL LIMIT 64")
        defer { statement.reset() }
        var keys: [EntryKey] = []
        while try statement.step() {
            guard let partition = PartitionID(text: statement.text(0)) else { throw RecordError() }
            keys.append(EntryKey(partition: partition, target: Target(unchecked: statement.text(1))))
        }
        return keys
    }

    /// Takes all entries as saved.
    mutating func saveEntries() throws {
        let rows = try connection.statement("SELECT record FROM unsaved WHERE record IS NOT NULL")
        defer { rows.reset() }
        let nobody = EntryKey(partition: .none, target: Target(unchecked: ""))
        var replaced: [Content] = []
        while try rows.step() {
            replaced += try Entry(key: nobody, record: rows.blob(0)).contents.filter { $0.inline == nil }
        }
        try refer(to: [], insteadOf: replaced, held: false)
        try connection.execute("DELETE FROM unsaved")
    }

    private static let settingAside = """
        INSERT OR IGNORE INTO unsaved SELECT partition, target, evictable, record FROM entries;
        DELETE FROM entries;
        """

    /// Sets all entries aside as saved before, so that the cache begins empty. Bodies of what was not saved are let go at the next
    /// start.
    mutating func setEntriesAside() throws {
        let bytes = try connection.integer("SELECT coalesce(sum(size), 0) FROM entries") ?? 0
        try connection.execute(Self.settingAside)
        forgetEntries(bytes)
    }

    /// Puts the entries back as they were saved, and sets them aside where the mode begins without them. Before a store is used,
    /// outside of a transaction.
    static func restoreSaved(_ connection: Connection, _ mode: CacheMode) throws {
        let isChanged =
            try connection.integer(
                "SELECT EXISTS (SELECT 1 FROM unsaved) OR EXISTS (SELECT 1 FROM incoming)") == 1
        guard isChanged || mode == .initialized else { return }
        try connection.execute("BEGIN IMMEDIATE")
        do {
            let rows = try connection.statement(
                """
                SELECT unsaved.partition, unsaved.target, unsaved.record, entries.record FROM unsaved
                LEFT JOIN entries ON entries.partition = unsaved.partition AND entries.target = unsaved.target
                """)
            while try rows.step() {
                let saved = rows.isNull(2) ? nil : rows.blob(2)
                let last = rows.isNull(3) ? nil : rows.blob(3)
                try restore(saved, insteadOf: last, at: (rows.text(0), rows.text(1)), connection)
            }
            rows.reset()
            // What was on its way in when the store was closed never was whole.
            try connection.execute("DELETE FROM unsaved; DELETE FROM incoming")
            if mode == .initialized { try connection.execute(settingAside) }
            try Recount.run(connection, dropsUnreadable: false)
            try connection.execute("COMMIT")
        } catch {
            if connection.isInTransaction { try connection.execute("ROLLBACK") }
            throw error
        }
    }

    /// Only copies go back. Policy and pin stay as they were set last, and copies that were newer, or gone, leave the older ones
    /// expired: what was saved may show a state from before a write.
    private static func restore(
        _ saved: [UInt8]?, insteadOf last: [UInt8]?, at name: (partition: String, target: String),
        _ connection: Connection
    ) throws {
        let nobody = EntryKey(partition: .none, target: Target(unchecked: ""))
        let last = try last.map { try Entry(key: nobody, record: $0) }
        var entry = try saved.map { try Entry(key: nobody, record: $0) } ?? Entry(key: nobody)
        if let last {
            if last.copies != entry.copies { entry.expire() }
            entry.policy = last.policy
            entry.pins = last.pins
        }
        try connection.run(
            "DELETE FROM entries WHERE partition = ? AND target = ?", .text(name.partition), .text(name.target))
        guard entry != Entry(key: nobody) else { return }
        let record = entry.record
        // Whether it may go is looked at again before it does.
        try connection.run(
            "INSERT INTO entries VALUES(?, ?, ?, ?, ?, ?)", .text(name.partition), .text(name.target),
            .integer(Int64(record.count)), .real(entry.lastSync ?? 0), .integer(entry.copies.isEmpty ? 0 : 1),
            .blob(record))
    }
}
