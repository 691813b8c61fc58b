import CacheCore

/// Operations, conflicts and key records.
extension StoreTransaction {
    mutating func put(_ operation: Operation) throws {
        note(RecordName(.operation, operation.id.text))
        let before = stored(operation.id)
        if let before, before.becomes(operation) { return try claim(before, as: operation) }
        let record = operation.record
        let size = Int64(record.count)
        // A claim changes nothing that anybody sees.
        if before?.operation.state != .pending || operation.state != .sending { touch(operation.shownIn) }
        if let before, before.operation.sequence == operation.sequence, !operation.state.isFinal {
            if before.operation.lane != operation.lane { touch(before.operation.shownIn) }
            try refer(to: operation.files, insteadOf: before.operation.files, held: true)
            addOperationBytes(size - before.size)
            try unclaim(before)
            try connection.run(
                "UPDATE operations SET record = ?2 WHERE sequence = ?1", .integer(before.row), .blob(record))
            show(StoredOperation(operation: operation, row: before.row, size: size), for: operation.id)
            return
        }
        // A sequence beyond all others is of a new operation: there is nothing to look for.
        let isNew = operation.sequence > effects.totals.lastSequence
        if before != nil || !isNew { try remove(operation.id) }
        raiseSequence(to: operation.sequence)
        try refer(to: operation.files, insteadOf: [], held: true)
        addOperationBytes(size)
        guard operation.state.isFinal else {
            let row = try insert(record, of: operation, isNew: isNew)
            show(StoredOperation(operation: operation, row: row, size: size), for: operation.id)
            return
        }
        let partition = operation.partition.text
        try connection.run(
            "INSERT INTO finished VALUES(?, ?, ?, ?, ?, ?)", .text(operation.id.text), .text(partition),
            .integer(operation.sequence), .text(operation.state.rawValue), .real(operation.finishedAt ?? now),
            .blob(record))
        for key in operation.indexedKeys {
            try connection.run(
                "INSERT OR REPLACE INTO finished_keys VALUES(?, ?, ?, ?)", .text(partition), .text(key),
                .integer(operation.sequence), .text(operation.id.text))
        }
    }

    /// Notes that the operation is on its way, and leaves its row alone. What shows it is shown already.
    private mutating func claim(_ before: StoredOperation, as operation: Operation) throws(SQLiteError) {
        try connection.run("INSERT INTO sending VALUES(?)", .integer(before.row))
        show(
            StoredOperation(operation: operation, row: before.row, size: before.size, isClaimed: true),
            for: operation.id)
    }

    /// Its row is about to say itself what became of it.
    private func unclaim(_ old: StoredOperation) throws(SQLiteError) {
        if old.isClaimed { try connection.run("DELETE FROM sending WHERE operation = ?", .integer(old.row)) }
    }

    /// Takes the operation of that id out, wherever it is.
    mutating func remove(_ id: OperationID) throws {
        let old: StoredOperation
        if let unfinished = stored(id) {
            old = unfinished
            try unclaim(old)
            try connection.run("DELETE FROM operations WHERE sequence = ?", .integer(old.row))
            show(nil as StoredOperation?, for: id)
        } else if let finished = try storedFinished(id) {
            old = finished
            try connection.run("DELETE FROM finished WHERE rowid = ?", .integer(old.row))
            for key in old.operation.indexedKeys {
                try connection.run(
                    "DELETE FROM finished_keys WHERE partition = ? AND key = ? AND sequence = ?",
                    .text(old.operation.partition.text), .text(key), .integer(old.operation.sequence))
            }
        } else {
            return
        }
        touch(old.operation.shownIn)
        try refer(to: [], insteadOf: old.operation.files, held: true)
        addOperationBytes(-old.size)
    }

    /// The number of the row: that of the operation's sequence, or, where another operation has that since two stores became the sides
    /// of one, a number below zero that is made of its id.
    private func insert(_ record: [UInt8], of operation: Operation, isNew: Bool) throws -> Int64 {
        var row = operation.sequence
        if !isNew, try isPresent("SELECT 1 FROM operations WHERE sequence = ?", row) {
            row = Self.spareRow(of: operation.id)
        }
        try connection.run("INSERT INTO operations VALUES(?, ?)", .integer(row), .blob(record))
        return row
    }

    /// Whether the statement gives a row.
    private func isPresent(_ sql: String, _ row: Int64) throws -> Bool {
        let statement = try connection.statement(sql)
        try statement.bind([.integer(row)])
        defer { statement.reset() }
        return try statement.step()
    }

    private static func spareRow(of id: OperationID) -> Int64 {
        let number = SHA256.digest(of: Array(id.text.utf8)).bytes.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return -1 - Int64(number >> 1)
    }

    func finished(_ id: OperationID) throws -> Operation? { try storedFinished(id)?.operation }

    private func storedFinished(_ id: OperationID) throws -> StoredOperation? {
        let statement = try connection.statement("SELECT rowid, record FROM finished WHERE id = ?")
        try statement.bind([.text(id.text)])
        defer { statement.reset() }
        guard try statement.step() else { return nil }
        let record = statement.blob(1)
        return StoredOperation(
            operation: try Operation(record: record), row: statement.integer(0), size: Int64(record.count))
    }

    mutating func put(_ conflict: Conflict) throws {
        touch([conflict.key])
        note(RecordName(.conflict, conflict.id))
        try removeConflict(conflict.id)
        let record = conflict.record
        try refer(to: conflict.contents, insteadOf: [], held: true)
        addOperationBytes(Int64(record.count))
        try connection.run(
            "INSERT INTO conflicts VALUES(?, ?, ?, ?)", .text(conflict.id), .text(conflict.key.partition.text),
            SQLValue(conflict.closedAt), .blob(record))
        show(conflict.closedAt == nil ? conflict : nil, for: conflict.id)
    }

    mutating func removeConflict(_ id: String) throws {
        guard let record = try records("SELECT record FROM conflicts WHERE id = ?", .text(id)).first else { return }
        let old = try Conflict(record: record)
        touch([old.key])
        try refer(to: [], insteadOf: old.contents, held: true)
        addOperationBytes(-Int64(old.record.count))
        try connection.run("DELETE FROM conflicts WHERE id = ?", .text(id))
        show(nil as Conflict?, for: id)
    }

    mutating func put(_ keyRecord: KeyRecord) throws {
        try removeKeyRecord(keyRecord.partition, keyRecord.key)
        let record = keyRecord.record
        try refer(to: keyRecord.contents, insteadOf: [], held: true)
        addOperationBytes(Int64(record.count))
        try connection.run(
            "INSERT INTO key_records VALUES(?, ?, ?, ?)", .text(keyRecord.partition.text), .text(keyRecord.key),
            .real(keyRecord.at), .blob(record))
    }

    mutating func put(_ alias: TargetAlias) throws {
        note(RecordName(.alias, alias.temporary.text, of: alias.partition))
        try connection.run(
            "INSERT OR REPLACE INTO aliases VALUES(?, ?, ?)", .text(alias.partition.text), .text(alias.temporary.text),
            SQLValue(alias.real?.text))
    }

    mutating func removeKeyRecord(_ partition: PartitionID, _ key: String) throws {
        note(RecordName(.keyRecord, key, of: partition))
        let found = try records(
            "SELECT record FROM key_records WHERE partition = ? AND key = ?", .text(partition.text), .text(key))
        guard let old = try found.first.map({ try KeyRecord(record: $0) }) else { return }
        try refer(to: [], insteadOf: old.contents, held: true)
        addOperationBytes(-Int64(old.record.count))
        try connection.run(
            "DELETE FROM key_records WHERE partition = ? AND key = ?", .text(partition.text), .text(key))
    }

    /// The records that the statement gives, read to the end: one of which nothing can be made leaves no read open, which would keep the
    /// log from being written back.
    func records(_ sql: String, _ values: SQLValue...) throws(SQLiteError) -> [[UInt8]] {
        let statement = try connection.statement(sql)
        try statement.bind(values)
        defer { statement.reset() }
        var records: [[UInt8]] = []
        while try statement.step() { records.append(statement.blob(0)) }
        return records
    }

    /// Hands everything over. Where both have an entry, the copies, policy and pin that the receiver has stay.
    mutating func move(_ from: PartitionID, _ to: PartitionID) throws {
        let statement = try connection.statement("SELECT target FROM entries WHERE partition = ?")
        try statement.bind([.text(from.text)])
        var targets: [Target] = []
        while try statement.step() { targets.append(Target(unchecked: statement.text(0))) }
        statement.reset()
        for target in targets {
            let key = EntryKey(partition: from, target: target)
            guard let old = try storedEntry(key) else { continue }
            try changeEntry(EntryKey(partition: to, target: target)) { $0.adopt(old.entry) }
            try setEntry(nil, for: key, in: old)
        }
        let finished = try records("SELECT record FROM finished WHERE partition = ?", .text(from.text))
        let operations = try allUnfinished.filter { $0.partition == from } + finished.map { try Operation(record: $0) }
        for var operation in operations {
            try remove(operation.id)
            operation.partition = to
            try put(operation)
        }
        for record in try records("SELECT record FROM conflicts WHERE partition = ?", .text(from.text)) {
            var conflict = try Conflict(record: record)
            touch([conflict.key])
            conflict.key = EntryKey(partition: to, target: conflict.key.target)
            try put(conflict)
        }
        for record in try records("SELECT record FROM key_records WHERE partition = ?", .text(from.text)) {
            var keyRecord = try KeyRecord(record: record)
            try removeKeyRecord(from, keyRecord.key)
            keyRecord.partition = to
            try put(keyRecord)
        }
        for record in try records("SELECT record FROM uploads WHERE partition = ?", .text(from.text)) {
            var upload = try Upload(record: record)
            upload.partition = to
            try put(upload)
        }
        let aliases = try connection.statement("SELECT temporary FROM aliases WHERE partition = ?")
        try aliases.bind([.text(from.text)])
        while try aliases.step() { note(RecordName(.alias, aliases.text(0), of: to)) }
        aliases.reset()
        try connection.run(
            "UPDATE OR REPLACE aliases SET partition = ? WHERE partition = ?", .text(to.text), .text(from.text))
    }
}

extension StoredOperation {
    /// Whether the other one is this one, claimed, and no more than that.
    fileprivate func becomes(_ other: Operation) -> Bool {
        guard other.state == .sending, !isClaimed, operation.state == .pending || operation.state == .unknown else {
            return false
        }
        var claimed = operation
        claimed.claim()
        return claimed == other
    }
}
