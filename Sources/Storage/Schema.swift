/// The tables of a store and how they came about.
enum Schema {
    /// What `user_version` says after the last migration.
    static var version: Int { migrations.count }

    /// Number n leads from version n to n + 1. The third one came with the parts of copies at the end of an entry's record.
    ///
    /// `operations` holds the unfinished ones and has no index but its sequence: new keys on scattered pages would halve the rate of
    /// accepted writes. What looks unfinished ones up by id or key is in memory.
    static let migrations = [
        """
        CREATE TABLE meta(name TEXT PRIMARY KEY, value BLOB) WITHOUT ROWID;
        CREATE TABLE totals(id INTEGER PRIMARY KEY CHECK (id = 1), copies INTEGER, operations INTEGER, entries INTEGER,
            last_sequence INTEGER, commits INTEGER);
        INSERT INTO totals VALUES(1, 0, 0, 0, 0, 0);
        CREATE TABLE entries(partition TEXT, target TEXT, size INTEGER, used_at REAL, evictable INTEGER, record BLOB,
            PRIMARY KEY(partition, target));
        CREATE INDEX entries_by_use ON entries(used_at) WHERE evictable = 1;
        CREATE TABLE operations(sequence INTEGER PRIMARY KEY, record BLOB);
        CREATE TABLE finished(id TEXT PRIMARY KEY, partition TEXT, sequence INTEGER, state TEXT, finished_at REAL,
            record BLOB);
        CREATE INDEX finished_by_time ON finished(finished_at);
        CREATE TABLE finished_keys(partition TEXT, key TEXT, sequence INTEGER, id TEXT,
            PRIMARY KEY(partition, key, sequence)) WITHOUT ROWID;
        CREATE TABLE conflicts(id TEXT PRIMARY KEY, partition TEXT, closed_at REAL, record BLOB);
        CREATE TABLE key_records(partition TEXT, key TEXT, at REAL, record BLOB, PRIMARY KEY(partition, key));
        CREATE INDEX key_records_by_time ON key_records(at);
        CREATE TABLE aliases(partition TEXT, temporary TEXT, real TEXT, PRIMARY KEY(partition, temporary))
            WITHOUT ROWID;
        CREATE TABLE bodies(digest BLOB PRIMARY KEY, refs INTEGER) WITHOUT ROWID;
        """,
        """
        CREATE TABLE uploads(id TEXT PRIMARY KEY, partition TEXT, changed_at REAL, record BLOB);
        DROP TABLE bodies;
        CREATE TABLE bodies(digest BLOB PRIMARY KEY, refs INTEGER, held INTEGER, length INTEGER) WITHOUT ROWID;
        UPDATE entries SET size = length(record);
        """,
        // No table changes: the number keeps programs away that would take an entry with parts for damage.
        "UPDATE totals SET commits = commits",
        // Records of version 2; those of version 1 stay as they are.
        "",
        """
        CREATE TABLE unsaved(partition TEXT, target TEXT, evictable INTEGER, record BLOB, PRIMARY KEY(partition, target));
        """,
        """
        CREATE TABLE incoming(intake INTEGER, partition TEXT, target TEXT, record BLOB,
            PRIMARY KEY(intake, partition, target));
        """,
        "CREATE TABLE actions(id TEXT PRIMARY KEY, partition TEXT, finished_at REAL, record BLOB)",
        // The number keeps programs away that would look for an operation under its sequence alone.
        "",
        // Records of version 3, beside earlier ones.
        "",
        // Rows of operations that were claimed and have not changed otherwise: a number is written where else the whole row would be.
        "CREATE TABLE sending(operation INTEGER PRIMARY KEY)",
        // Pins for what led to an entry at the end of its record, and what had no credential at the end of an action's.
        "",
    ]

    /// The first one with `sending`.
    static let claimsVersion = 10

    /// Throws `StoreOpenError.newerVersion` for a database of a later format, and leaves it as it is: a connection that may write
    /// would set its mode, and write its log back when it is closed.
    static func check(_ path: String) throws {
        guard let connection = try? Connection(path: path, readOnly: true) else { return }
        if let found = try? connection.integer("PRAGMA user_version"), found > version {
            throw StoreOpenError.newerVersion(Int(found))
        }
    }

    /// Brings a database to the current version, or throws `StoreOpenError.newerVersion`.
    static func migrate(_ connection: Connection) throws {
        let found = Int(try connection.integer("PRAGMA user_version") ?? 0)
        guard found <= version else { throw StoreOpenError.newerVersion(found) }
        for number in found..<version {
            try connection.execute("BEGIN IMMEDIATE")
            do {
                try connection.execute(migrations[number])
                // Bodies were counted with each row before.
                if number == 1 { try Recount.run(connection, dropsUnreadable: false) }
                try connection.execute("PRAGMA user_version = \(number + 1)")
                try connection.execute("COMMIT")
            } catch {
                if connection.isInTransaction { try connection.execute("ROLLBACK") }
                throw error
            }
        }
    }
}
