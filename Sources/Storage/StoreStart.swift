import CacheCore
import Glibc

/// What a database holds when it is opened.
struct StoreStart {
    var epoch: Int64
    var partitionKey: [UInt8]
    /// Unfinished ones, in order.
    var operations: [StoredOperation]
    /// Open ones.
    var conflicts: [Conflict]
    var totals: Totals
    /// Ids of all uploads.
    var uploads: Set<String>

    /// Opens the database, brings its schema up to date, puts copies back as the mode has it, and counts the start. A damaged
    /// one is kept aside and what can be read goes into a fresh one.
    static func open(_ files: DatabaseFiles, _ mode: CacheMode, log: any Log) throws -> StoreStart {
        try files.settle()
        try Schema.check(files.path)
        do {
            if !files.isMarked { return try read(files, mode) }
            log.write(.error, "the database was found damaged; it is kept aside and salvaged", [])
        } catch let error as SQLiteError where error.code.isCorrupt {
            log.write(.error, "the database is damaged; it is kept aside and salvaged", [("reason", error.message)])
        } catch is RecordError {
            log.write(.error, "the database is damaged; it is kept aside and salvaged", [("reason", "a record")])
        }
        let salvaged = try Salvage.run(files)
        log.write(
            .warning, "salvaged what could be read of the damaged database",
            salvaged.map { ($0.table, String($0.rows)) })
        return try read(files, mode)
    }

    private static func read(_ files: DatabaseFiles, _ mode: CacheMode) throws -> StoreStart {
        let connection = try SQLiteStore.connect(files.path)
        try Schema.migrate(connection)
        try StoreTransaction.restoreSaved(connection, mode)
        _ = unsafe chmod(files.path, 0o600)
        var key = try blob("SELECT value FROM meta WHERE name = 'partition_key'", connection)
        if key?.count != 32 {
            let known = files.partitionKey ?? randomBytes(32)
            try connection.run("INSERT OR REPLACE INTO meta VALUES('partition_key', ?)", .blob(known))
            key = known
        }
        try files.keep(partitionKey: key ?? [])
        try connection.execute(
            """
            INSERT INTO meta VALUES('epoch', 1) ON CONFLICT(name) DO UPDATE SET value = value + 1
            """)
        let (operations, conflicts) = try queue(connection)
        var start = StoreStart(
            epoch: try connection.integer("SELECT value FROM meta WHERE name = 'epoch'") ?? 1, partitionKey: key ?? [],
            operations: operations, conflicts: conflicts, totals: Totals(), uploads: [])
        let uploads = try connection.statement("SELECT id FROM uploads")
        while try uploads.step() { start.uploads.insert(uploads.text(0)) }
        start.totals = try totals(connection)
        start.totals.lastSequence = max(start.totals.lastSequence, operations.last?.operation.sequence ?? 0)
        return start
    }

    static func totals(_ connection: Connection) throws -> Totals {
        let row = try connection.statement(
            """
            SELECT copies, operations, last_sequence, max(0, min(entries, (SELECT coalesce(max(rowid), 0) FROM entries)))
            FROM totals
            """)
        defer { row.reset() }
        guard try row.step() else { return Totals() }
        // More than any disk holds, or sums would overflow: the row is damaged.
        guard (0..<3).allSatisfy({ row.integer($0).magnitude < 1 << 56 }) else { throw RecordError() }
        return Totals(
            copies: row.integer(0), operations: row.integer(1), entries: row.integer(3), lastSequence: row.integer(2))
    }

    private static func blob(_ sql: String, _ connection: Connection) throws -> [UInt8]? {
        let statement = try connection.statement(sql)
        defer { statement.reset() }
        return try statement.step() ? statement.blob(0) : nil
    }

    static func queue(
        _ connection: Connection
    ) throws -> (operations: [StoredOperation], conflicts: [Conflict]) {
        var operations: [StoredOperation] = []
        let rows = try connection.statement(
            """
            SELECT sequence, record, operation FROM operations LEFT JOIN sending ON operation = sequence ORDER BY sequence
            """)
        while try rows.step() {
            let record = rows.blob(1)
            var stored = StoredOperation(
                operation: try Operation(record: record), row: rows.integer(0), size: Int64(record.count),
                isClaimed: !rows.isNull(2))
            if stored.isClaimed { stored.operation.claim() }
            operations.append(stored)
        }
        // A row below zero stands before those that it comes after.
        operations.sort { $0.operation.precedes($1.operation) }
        var open: [Conflict] = []
        let conflicts = try connection.statement("SELECT record FROM conflicts WHERE closed_at IS NULL ORDER BY id")
        while try conflicts.step() { open.append(try Conflict(record: conflicts.blob(0))) }
        return (operations, open)
    }
}
