/// Gets what can be read out of a damaged database into a fresh one.
enum Salvage {
    /// In the order of what would be missed most.
    private static let tables = [
        "meta", "sending", "operations", "conflicts", "uploads", "aliases", "key_records", "finished", "finished_keys",
        "actions", "unsaved", "entries",
    ]

    /// Makes a new database of what can be read, then keeps the damaged one aside and puts the new one in its place. Rows
    /// taken over, by table. A later format is refused before anything is done.
    static func run(_ files: DatabaseFiles) throws -> [(table: String, rows: Int)] {
        files.removeSalvage()
        var counts: [(String, Int)] = []
        do {
            let fresh = try Connection(path: files.salvage)
            try fresh.execute("PRAGMA synchronous = FULL")
            try Schema.migrate(fresh)
            if let damaged = try? Connection(path: files.path) {
                let version = Int((try? damaged.integer("PRAGMA user_version")) ?? 0)
                guard version <= Schema.version else { throw StoreOpenError.newerVersion(version) }
                try fresh.execute("BEGIN IMMEDIATE")
                var areClaimsKnown = true
                for table in tables {
                    let copied = copy(table, from: damaged, to: fresh)
                    counts.append((table, copied.rows))
                    if table == "sending" {
                        areClaimsKnown = copied.isWhole || (1..<Schema.claimsVersion).contains(version)
                    }
                }
                // Any of them may have been on its way then.
                if !areClaimsKnown {
                    try fresh.execute("INSERT OR IGNORE INTO sending SELECT sequence FROM operations")
                }
                try Recount.run(fresh, dropsUnreadable: true)
                try fresh.execute("COMMIT")
            }
        }
        try files.putSalvageInPlace()
        return counts
    }

    /// Copies rows from the front to the first one that can't be read, then from the back, by row and by the table's key. How many, and
    /// whether that is all.
    private static func copy(
        _ table: String, from damaged: Connection, to fresh: Connection
    ) -> (rows: Int, isWhole: Bool) {
        var count = 0
        for order in ["", " ORDER BY rowid DESC", " ORDER BY 1", " ORDER BY 1 DESC"] {
            guard let rows = try? damaged.statement("SELECT * FROM \(table)\(order)") else { continue }
            var isWhole = false
            while true {
                do throws(SQLiteError) {
                    guard try rows.step() else {
                        isWhole = true
                        break
                    }
                } catch { break }
                let values = rows.values
                let places = values.map { _ in "?" }.joined(separator: ", ")
                guard let insert = try? fresh.statement("INSERT OR IGNORE INTO \(table) VALUES(\(places))"),
                    (try? insert.bind(values)) != nil, (try? insert.step()) != nil
                else { continue }
                insert.reset()
                count += 1
            }
            rows.reset()
            if isWhole { return (count, true) }
        }
        return (count, false)
    }
}
