import CacheCore

/// Makes totals and body references anew from the rows, and drops rows whose records can't be read.
enum Recount {
    static func run(_ connection: Connection) throws {
        var references: [Digest: Int64] = [:]
        var totals = Totals()
        func count(_ contents: [Content], _ record: [UInt8]) -> Int64 {
            var size = Int64(record.count)
            for content in contents where content.inline == nil {
                references[content.digest, default: 0] += 1
                size += content.length
            }
            return size
        }
        func each(_ table: String, _ name: String, _ body: ([UInt8]) throws -> Void) throws {
            let rows = try connection.statement("SELECT rowid, \(name) FROM \(table)")
            var unreadable: [Int64] = []
            while try rows.step() {
                do { try body(rows.blob(1)) } catch { unreadable.append(rows.integer(0)) }
            }
            rows.reset()
            for row in unreadable { try connection.run("DELETE FROM \(table) WHERE rowid = ?", .integer(row)) }
        }
        func add(_ operation: Operation, _ record: [UInt8]) {
            totals.operations += count(operation.contents, record)
            totals.lastSequence = max(totals.lastSequence, operation.sequence)
        }
        try each("operations", "record") { add(try Operation(record: $0), $0) }
        try each("finished", "record") { add(try Operation(record: $0), $0) }
        try each("conflicts", "record") { totals.operations += count(try Conflict(record: $0).contents, $0) }
        try each("key_records", "record") { totals.operations += count(try KeyRecord(record: $0).contents, $0) }
        let nobody = EntryKey(partition: .none, target: Target(unchecked: ""))
        try each("entries", "record") {
            totals.copies += count(try Entry(key: nobody, record: $0).contents, $0)
            totals.entries += 1
        }
        try connection.execute("DELETE FROM bodies")
        for (digest, number) in references {
            try connection.run("INSERT INTO bodies VALUES(?, ?)", .blob(digest.bytes), .integer(number))
        }
        try connection.run(
            "UPDATE totals SET copies = ?, operations = ?, entries = ?, last_sequence = ?", .integer(totals.copies),
            .integer(totals.operations), .integer(totals.entries), .integer(totals.lastSequence))
    }
}
