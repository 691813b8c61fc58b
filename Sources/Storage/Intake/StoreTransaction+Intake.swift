import CacheCore

/// Entries on their way in (`EntryIntake`): aside in `incoming` with references to their bodies, until all are there.
extension StoreTransaction {
    mutating func setAside(_ entries: [Entry], for intake: Int64) throws {
        let before = effects.totals
        for entry in entries {
            if let old = try incoming(entry.key, intake) { try drop(old.entry, old.size) }
            try refer(to: entry.contents, insteadOf: [], held: false)
            let record = entry.record
            try connection.run(
                "INSERT OR REPLACE INTO incoming VALUES(?, ?, ?, ?)", .integer(intake),
                .text(entry.key.partition.text), .text(entry.key.target.text), .blob(record))
            addCopyBytes(Int64(record.count))
        }
        try fit(since: before)
    }

    private func incoming(_ key: EntryKey, _ intake: Int64) throws -> (entry: Entry, size: Int64)? {
        let statement = try connection.statement(
            "SELECT record FROM incoming WHERE intake = ? AND partition = ? AND target = ?")
        try statement.bind([.integer(intake), .text(key.partition.text), .text(key.target.text)])
        defer { statement.reset() }
        guard try statement.step() else { return nil }
        let record = statement.blob(0)
        return (try Entry(key: key, record: record), Int64(record.count))
    }

    private mutating func drop(_ entry: Entry, _ size: Int64) throws {
        try refer(to: [], insteadOf: entry.contents, held: false)
        addCopyBytes(-size)
    }

    /// Puts all in place, but for those with an edit.
    mutating func takeIncoming(_ intake: Int64) throws {
        let isBusy = isBusy
        try eachIncoming(intake) { transaction, entry, size in
            if !isBusy(entry.key) {
                let stored = try transaction.storedEntry(entry.key)
                try transaction.setEntry(entry.replacing(stored?.entry), for: entry.key, in: stored)
                // All prepared hits are forgotten together.
                transaction.forgetTouched()
            }
            try transaction.drop(entry, size)
        }
    }

    mutating func dropIncoming(_ intake: Int64) throws {
        try eachIncoming(intake) { transaction, entry, size in try transaction.drop(entry, size) }
    }

    private mutating func eachIncoming(
        _ intake: Int64, _ body: (inout StoreTransaction, Entry, Int64) throws -> Void
    ) throws {
        let rows = try connection.statement("SELECT partition, target, record FROM incoming WHERE intake = ?")
        try rows.bind([.integer(intake)])
        defer { rows.reset() }
        while try rows.step() {
            guard let partition = PartitionID(text: rows.text(0)) else { throw RecordError() }
            let key = EntryKey(partition: partition, target: Target(unchecked: rows.text(1)))
            let record = rows.blob(2)
            try body(&self, try Entry(key: key, record: record), Int64(record.count))
        }
        rows.reset()
        try connection.run("DELETE FROM incoming WHERE intake = ?", .integer(intake))
    }
}
