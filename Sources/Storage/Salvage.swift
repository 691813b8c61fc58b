import CSQLite
import Glibc

/// Gets what can be read out of a damaged database into a fresh one.
enum Salvage {
    /// In the order of what would be missed most.
    private static let tables = [
        "meta", "operations", "conflicts", "aliases", "key_records", "finished", "finished_keys", "entries",
    ]

    /// Keeps the database aside under `.damaged` names and makes a new one at `path`. Rows taken over, by table.
    static func run(_ path: String) throws -> [(table: String, rows: Int)] {
        let aside = path + ".damaged"
        for suffix in ["", "-wal", "-shm"] {
            _ = unsafe unlink(aside + suffix)
            _ = unsafe rename(path + suffix, aside + suffix)
        }
        let fresh = try SQLiteStore.connect(path)
        try Schema.migrate(fresh)
        guard let damaged = try? Connection(path: aside) else { return [] }
        var counts: [(String, Int)] = []
        try fresh.execute("BEGIN IMMEDIATE")
        for table in tables { counts.append((table, copy(table, from: damaged, to: fresh))) }
        try Recount.run(fresh)
        try fresh.execute("COMMIT")
        return counts
    }

    /// Copies rows from the front to the first one that can't be read, then from the back.
    private static func copy(_ table: String, from damaged: Connection, to fresh: Connection) -> Int {
        var count = 0
        for order in ["", " ORDER BY 1 DESC"] {
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
            if isWhole { break }
        }
        return count
    }
}
