import CacheCore

/// Stamps: which commit brought each row, for the reconciling of two sides.
extension StoreTransaction {
    /// `arrival` counts the transactions of this side, so that who looks for changes finds those with low counters too; `writer`
    /// says who made them.
    static let stampTables = """
        CREATE TABLE IF NOT EXISTS stamps(kind INTEGER, partition TEXT, name TEXT, counter INTEGER, arrival INTEGER,
            writer INTEGER, at REAL, PRIMARY KEY(kind, partition, name)) WITHOUT ROWID;
        CREATE INDEX IF NOT EXISTS stamps_by_arrival ON stamps(arrival);
        """

    /// Gives all that the job has changed one counter. What is there now.
    func stamp(_ counter: Int64, by writer: Int64) throws -> [MirrorRecord] {
        try effects.changed.map { name in
            try stamp(name, counter, by: writer)
            return MirrorRecord(name: name, counter: counter, value: try value(of: name))
        }
    }

    private func stamp(_ name: RecordName, _ counter: Int64, by writer: Int64) throws {
        try connection.run(
            """
            INSERT OR REPLACE INTO stamps VALUES(?, ?, ?, ?, (SELECT commits + 1 FROM totals), ?, ?)
            """, .integer(name.kind.rawValue), .text(name.partition.text), .text(name.text), .integer(counter),
            .integer(writer), .real(now))
    }

    /// Takes what the other side has where it replaces what is here. The names of what was taken.
    mutating func take(
        _ records: [MirrorRecord], winsTies: Bool, by writer: Int64, rule: any Reconciling,
        mending damaged: Set<RecordName>
    ) throws -> [RecordName] {
        var taken: [RecordName] = []
        for record in records {
            let there = try self.record(record.name)
            guard damaged.contains(record.name) || record.replaces(there, winsTies: winsTies, by: rule) else {
                continue
            }
            try put(record)
            try stamp(record.name, record.counter, by: writer)
            taken.append(record.name)
        }
        return taken
    }

    private mutating func put(_ record: MirrorRecord) throws {
        switch record.value {
        case .entry(let entry): try setEntry(entry, for: entry.key, in: try storedEntry(entry.key))
        case .operation(let operation): try put(operation)
        case .conflict(let conflict): try put(conflict)
        case .keyRecord(let keyRecord): try put(keyRecord)
        case .alias(let alias): try put(alias)
        case .gone:
            switch record.name.kind {
            case .entry:
                guard let key = record.name.key, let stored = try storedEntry(key) else { return }
                try setEntry(nil, for: key, in: stored)
            case .keyRecord: try removeKeyRecord(record.name.partition, record.name.text)
            case .alias, .operation, .conflict: break
            }
        }
    }

    /// What this side has under the name.
    func record(_ name: RecordName) throws -> MirrorRecord {
        let statement = try connection.statement(
            "SELECT counter FROM stamps WHERE kind = ? AND partition = ? AND name = ?")
        try statement.bind([.integer(name.kind.rawValue), .text(name.partition.text), .text(name.text)])
        let counter = try statement.step() ? statement.integer(0) : 0
        statement.reset()
        return MirrorRecord(name: name, counter: counter, value: try value(of: name))
    }

    private func value(of name: RecordName) throws -> MirrorRecord.Value {
        switch name.kind {
        case .operation:
            if let operation = unfinished(OperationID(name.text)) { return .operation(operation) }
            return try finished(OperationID(name.text)).map { .operation($0) } ?? .gone
        default: return try StampedRows.value(of: name, connection)
        }
    }

    /// Throws `outdated` where an operation that the changes replace is not in the state that their maker has seen: another
    /// process was first.
    func check(_ changes: [StoreChange], against seen: [OperationID: OperationState]) throws {
        for case .putOperation(let operation) in changes {
            guard let known = seen[operation.id] else { continue }
            let there = try unfinished(operation.id) ?? finished(operation.id)
            guard there?.state == known else { throw StoreError.outdated }
        }
    }
}

extension StoreTransaction {
    private static let partitioned = [
        "entries", "unsaved", "incoming", "finished", "conflicts", "key_records", "aliases", "uploads", "actions",
    ]

    /// Takes another key for the hashes of identities, for the next opening; false where something is kept under one.
    func take(partitionKey key: [UInt8]) throws -> Bool {
        let looks = Self.partitioned.map { "EXISTS (SELECT 1 FROM \($0) WHERE partition <> '')" }
        guard try connection.integer("SELECT " + looks.joined(separator: " OR ")) == 0,
            allUnfinished.allSatisfy({ $0.partition == .none })
        else { return false }
        try connection.run("INSERT OR REPLACE INTO meta VALUES('partition_key', ?)", .blob(key))
        return true
    }
}

/// Reads rows with their stamps, on any connection.
enum StampedRows {
    static func value(of name: RecordName, _ connection: Connection) throws -> MirrorRecord.Value {
        let (sql, values): (String, [SQLValue]) =
            switch name.kind {
            case .entry:
                (
                    "SELECT record FROM entries WHERE partition = ? AND target = ?",
                    [.text(name.partition.text), .text(name.text)]
                )
            case .operation: ("SELECT record FROM finished WHERE id = ?", [.text(name.text)])
            case .conflict: ("SELECT record FROM conflicts WHERE id = ?", [.text(name.text)])
            case .keyRecord:
                (
                    "SELECT record FROM key_records WHERE partition = ? AND key = ?",
                    [.text(name.partition.text), .text(name.text)]
                )
            case .alias:
                (
                    "SELECT real FROM aliases WHERE partition = ? AND temporary = ?",
                    [.text(name.partition.text), .text(name.text)]
                )
            }
        let statement = try connection.statement(sql)
        try statement.bind(values)
        defer { statement.reset() }
        guard try statement.step() else { return .gone }
        switch name.kind {
        case .entry:
            let key = EntryKey(partition: name.partition, target: Target(unchecked: name.text))
            return .entry(try Entry(key: key, record: statement.blob(0)))
        case .operation: return .operation(try Operation(record: statement.blob(0)))
        case .conflict: return .conflict(try Conflict(record: statement.blob(0)))
        case .keyRecord: return .keyRecord(try KeyRecord(record: statement.blob(0)))
        case .alias:
            return .alias(
                TargetAlias(
                    partition: name.partition, temporary: Target(unchecked: name.text),
                    real: statement.isNull(0) ? nil : Target(unchecked: statement.text(0))))
        }
    }

    /// Names in the order of `statement`'s rows: kind, partition, name.
    static func name(_ row: Statement) throws -> RecordName {
        guard let kind = RecordName.Kind(rawValue: row.integer(0)), let partition = PartitionID(text: row.text(1))
        else {
            throw RecordError()
        }
        return RecordName(kind, row.text(2), of: partition)
    }
}

extension StoreTransaction {
    /// Forgets stamps of what is gone, or was settled, before `limit`. They are there only where the store is one of two sides.
    func removeOldStamps(_ limit: SQLValue) throws {
        guard options.sharing != .alone else { return }
        try connection.run(
            """
            DELETE FROM stamps WHERE (kind, partition, name) IN (SELECT kind, partition, name FROM stamps WHERE at < ?1
                AND (kind <> 0 OR NOT EXISTS
                    (SELECT 1 FROM entries WHERE entries.partition = stamps.partition AND target = name)) LIMIT 1000)
            """, limit)
    }
}
