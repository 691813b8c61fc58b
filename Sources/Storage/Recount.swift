import CacheCore

/// Makes totals and body references anew from the rows.
enum Recount {
    /// `dropsUnreadable`: rows whose records can't be read are dropped, else they are an error.
    static func run(_ connection: Connection, dropsUnreadable: Bool) throws {
        var bodies: [Digest: (references: Int64, held: Int64, length: Int64)] = [:]
        var totals = Totals()
        func count(_ contents: [Content], held: Bool) {
            for content in contents where content.inline == nil {
                bodies[content.digest, default: (0, 0, content.length)].references += 1
                if held { bodies[content.digest]?.held += 1 }
            }
        }
        func hold(_ contents: [Content], _ record: [UInt8]) {
            count(contents, held: true)
            totals.operations += Int64(record.count)
        }
        func each(_ table: String, _ name: String, _ body: ([UInt8]) throws -> Void) throws {
            let rows = try connection.statement("SELECT rowid, \(name) FROM \(table)")
            var unreadable: [Int64] = []
            while try rows.step() {
                do {
                    try body(rows.blob(1))
                } catch {
                    guard dropsUnreadable else { throw error }
                    unreadable.append(rows.integer(0))
                }
            }
            rows.reset()
            for row in unreadable { try connection.run("DELETE FROM \(table) WHERE rowid = ?", .integer(row)) }
        }
        func add(_ operation: Operation, _ record: [UInt8]) {
            hold(operation.contents, record)
            totals.lastSequence = max(totals.lastSequence, operation.sequence)
        }
        try each("operations", "record") { add(try Operation(record: $0), $0) }
        try each("finished", "record") { add(try Operation(record: $0), $0) }
        try each("conflicts", "record") { hold(try Conflict(record: $0).contents, $0) }
        try each("key_records", "record") { hold(try KeyRecord(record: $0).contents, $0) }
        try each("uploads", "record") {
            let upload = try Upload(record: $0)
            hold(upload.contents, $0)
            totals.operations += upload.fileBytes
        }
        let nobody = EntryKey(partition: .none, target: Target(unchecked: ""))
        try each("entries", "record") {
            count(try Entry(key: nobody, record: $0).contents, held: false)
            totals.copies += Int64($0.count)
            totals.entries += 1
        }
        // Not there in the formats that are counted on their way to this one.
        func has(_ table: String) throws -> Bool {
            try connection.integer("SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE name = '\(table)')") == 1
        }
        if try has("unsaved") {
            // What was new since the last save has no record.
            try each("unsaved", "coalesce(record, x'')") {
                if !$0.isEmpty { count(try Entry(key: nobody, record: $0).contents, held: false) }
            }
        }
        if try has("actions") {
            try each("actions", "record") {
                _ = try Action(record: $0)
                hold([], $0)
            }
        }
        try connection.execute("DELETE FROM bodies")
        for (digest, body) in bodies {
            totals.count(body.length, references: body.references, held: body.held)
            try connection.run(
                "INSERT INTO bodies VALUES(?, ?, ?, ?)", .blob(digest.bytes), .integer(body.references),
                .integer(body.held), .integer(body.length))
        }
        try connection.run(
            "UPDATE totals SET copies = ?, operations = ?, entries = ?, last_sequence = ?", .integer(totals.copies),
            .integer(totals.operations), .integer(totals.entries), .integer(totals.lastSequence))
    }
}
