package import CacheCore
import HTTPModel
import Synchronization

extension SQLiteStore {
    /// Runs a read on a reader thread.
    func read<Value: Sendable>(
        _ body: @escaping @Sendable (Connection) throws -> Value
    ) async throws(StoreError) -> Value {
        try await Self.read(shared, body)
    }

    static func read<Value: Sendable>(
        _ shared: StoreShared, _ body: @escaping @Sendable (Connection) throws -> Value
    ) async throws(StoreError) -> Value {
        let outcome: Result<Value, StoreError> = await withCheckedContinuation { continuation in
            let isAdded = shared.reads.add { connection in
                guard let connection else {
                    continuation.resume(returning: .failure(.failed(reason: "the database can't be opened")))
                    return
                }
                do {
                    continuation.resume(returning: .success(try body(connection)))
                } catch let error as SQLiteError {
                    continuation.resume(returning: .failure(shared.storeError(error)))
                } catch {
                    continuation.resume(returning: .failure(shared.recordError()))
                }
            }
            if !isAdded { continuation.resume(returning: .failure(.closed)) }
        }
        return try outcome.get()
    }

    /// All rows of a statement.
    func rows<Item: Sendable>(
        _ sql: String, _ values: [SQLValue], _ body: @escaping @Sendable (Statement) throws -> Item
    ) async throws(StoreError) -> [Item] {
        let values = Values(values)
        return try await read { connection in
            let statement = try connection.statement(sql)
            try statement.bind(values.values)
            defer { statement.reset() }
            var items: [Item] = []
            while try statement.step() { items.append(try body(statement)) }
            return items
        }
    }

    package func entry(_ key: EntryKey) async throws(StoreError) -> Entry? {
        try await behind.entry(key) { () throws(StoreError) in try await writtenEntry(key) }
    }

    package func isAbsent(_ key: EntryKey) -> Bool {
        guard shared.options.sharing != .mirror, !behind.holds(key) else { return false }
        return !shared.memory.known.mayHold(key)
    }

    private func writtenEntry(_ key: EntryKey) async throws(StoreError) -> Entry? {
        // What other processes bring is in no filter of this one.
        let known = shared.options.sharing == .mirror ? .unknown : shared.memory.known.look(up: key)
        switch known {
        case .absent: return nil
        case .unknown: break
        case .outgrown: Task { [shared] in await Self.fillKnown(shared) }
        }
        var earlier: Entry?
        while let found = try await storedEntry(key) {
            // Bodies that went between the look and the hold belong to copies that have made way: what is there now?
            if let held = held(found) ?? (found == earlier ? found : nil) {
                shared.memory.noteUse(of: key, at: shared.clock.now)
                return held
            }
            earlier = found
        }
        return nil
    }

    private func storedEntry(_ key: EntryKey) async throws(StoreError) -> Entry? {
        try await rows(
            "SELECT record FROM entries WHERE partition = ? AND target = ?",
            [.text(key.partition.text), .text(key.target.text)]
        ) { try Entry(key: key, record: $0.blob(0)) }.first
    }

    /// The entry with holds on its bodies, so that they outlive their row while somebody works with them; nil where one has gone.
    func held(_ entry: Entry) -> Entry? {
        var entry = entry
        for index in entry.copies.indices {
            guard let content = shared.bodies.held(entry.copies[index].content) else { return nil }
            entry.copies[index].content = content
        }
        for index in entry.parts.indices {
            guard let parts = entry.parts[index].withContents(shared.bodies.held) else { return nil }
            entry.parts[index] = parts
        }
        return entry
    }

    package func entries(_ filter: EntryFilter, after: String?, limit: Int) async throws(StoreError) -> Page<Entry> {
        await behind.flush()
        let parts = after.map { $0.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false) } ?? []
        let items = try await rows(
            """
            SELECT partition, target, record FROM entries
            WHERE (?1 IS NULL OR (partition, target) > (?1, ?2))
            AND (?3 IS NULL OR partition IN (SELECT value FROM json_each(?3)))
            AND substr(target, 1, length(?4)) = ?4 ORDER BY partition, target LIMIT ?5
            """,
            [
                SQLValue(parts.first.map { String($0) }), SQLValue(parts.count > 1 ? String(parts[1]) : nil),
                Self.list(filter.partitions), .text(filter.prefix ?? ""), .integer(Int64(limit) + 1),
            ]
        ) { row in
            guard let partition = PartitionID(text: row.text(0)) else { throw RecordError() }
            let key = EntryKey(partition: partition, target: Target(unchecked: row.text(1)))
            return try Entry(key: key, record: row.blob(2))
        }
        return Self.page(items, limit: limit) { $0.key.partition.text + " " + $0.key.target.text }
    }

    package func partitions() async throws(StoreError) -> [(id: PartitionID, entries: Int64)] {
        await behind.flush()
        return try await rows("SELECT partition, count(*) FROM entries GROUP BY partition ORDER BY partition", []) {
            row in
            guard let partition = PartitionID(text: row.text(0)) else { throw RecordError() }
            return (id: partition, entries: row.integer(1))
        }
    }

    package func loadQueue() async throws(StoreError) -> QueueImage {
        let aliases = try await rows(
            "SELECT partition, temporary, real FROM aliases ORDER BY partition, temporary", []
        ) { row in
            guard let partition = PartitionID(text: row.text(0)) else { throw RecordError() }
            return TargetAlias(
                partition: partition, temporary: Target(unchecked: row.text(1)),
                real: row.isNull(2) ? nil : Target(unchecked: row.text(2)))
        }
        return shared.memory.state.withLock { state in
            QueueImage(
                operations: state.operations.values.map(\.operation).sorted { $0.precedes($1) },
                conflicts: state.conflicts.values.sorted { $0.id < $1.id }, aliases: aliases,
                lastSequence: state.totals.lastSequence)
        }
    }

    package func operation(_ id: OperationID) async throws(StoreError) -> Operation? {
        if let unfinished = shared.memory.state.withLock({ $0.operations[id] }) {
            return unfinished.operation
        }
        return try await rows("SELECT record FROM finished WHERE id = ?", [.text(id.text)]) {
            try Operation(record: $0.blob(0))
        }.first
    }

    package func operation(partition: PartitionID, key: String) async throws(StoreError) -> Operation? {
        let unfinished = shared.memory.state.withLock { $0.operation(partition: partition, key: key) }
        let finished = try await rows(
            """
            SELECT record FROM finished WHERE partition = ?1 AND id IN
            (SELECT id FROM finished_keys WHERE partition = ?1 AND key = ?2 UNION ALL SELECT ?3)
            ORDER BY sequence DESC
            """, [.text(partition.text), .text(key), SQLValue(IDs.operation(ofKey: key)?.text)]
        ) { try Operation(record: $0.blob(0)) }.first { $0.keys.contains { $0.hasSameBytes(as: key) } }
        return [unfinished, finished].compactMap { $0 }.max { $0.sequence < $1.sequence }
    }

    package func operations(
        partitions: [PartitionID]?, states: [OperationState]?, after: String?, limit: Int
    ) async throws(StoreError) -> Page<Operation> {
        var items = shared.memory.state.withLock { state in
            state.operations(after: OperationID(after ?? ""), limit: limit + 1) { operation in
                (partitions?.contains(operation.partition) ?? true) && (states?.contains(operation.state) ?? true)
            }
        }
        let known = Set(items.map(\.id))
        items += try await rows(
            """
            SELECT record FROM finished WHERE id > ?1 AND (?2 IS NULL OR partition IN (SELECT value FROM json_each(?2)))
            AND (?3 IS NULL OR state IN (SELECT value FROM json_each(?3))) ORDER BY id LIMIT ?4
            """,
            [
                .text(after ?? ""), Self.list(partitions), Self.list(states?.map(\.rawValue)),
                .integer(Int64(limit) + 1),
            ]
        ) { try Operation(record: $0.blob(0)) }.filter { !known.contains($0.id) }
        return Self.page(items.sorted { $0.id < $1.id }, limit: limit) { $0.id.text }
    }

    package func conflict(_ id: String) async throws(StoreError) -> Conflict? {
        try await rows("SELECT record FROM conflicts WHERE id = ?", [.text(id)]) {
            try Conflict(record: $0.blob(0))
        }.first
    }

    package func conflicts(
        partitions: [PartitionID]?, open: Bool, after: String?, limit: Int
    ) async throws(StoreError) -> Page<Conflict> {
        let items = try await rows(
            """
            SELECT record FROM conflicts WHERE id > ?1 AND (closed_at IS NULL) = ?2
            AND (?3 IS NULL OR partition IN (SELECT value FROM json_each(?3))) ORDER BY id LIMIT ?4
            """, [.text(after ?? ""), .integer(open ? 1 : 0), Self.list(partitions), .integer(Int64(limit) + 1)]
        ) { try Conflict(record: $0.blob(0)) }
        return Self.page(items, limit: limit) { $0.id }
    }

    package func keyRecord(partition: PartitionID, key: String) async throws(StoreError) -> KeyRecord? {
        try await rows(
            "SELECT record FROM key_records WHERE partition = ? AND key = ?", [.text(partition.text), .text(key)]
        ) { try KeyRecord(record: $0.blob(0)) }.first
    }

    package func select(_ query: MemberQuery) async throws(StoreError) -> any MemberSelection {
        await behind.flush()
        return try await read { [self] _ in try MemberTable(query, store: self, path: shared.files.path) }
    }

    /// A page of a table of records with columns `id` and `partition`, in order of id.
    func records<Item: Sendable>(
        of table: StaticString, _ partitions: [PartitionID]?, _ after: String?, _ limit: Int,
        _ make: @escaping @Sendable ([UInt8]) throws -> Item, id: (Item) -> String
    ) async throws(StoreError) -> Page<Item> {
        let items = try await rows(
            """
            SELECT record FROM \(table) WHERE id > ?1
            AND (?2 IS NULL OR partition IN (SELECT value FROM json_each(?2))) ORDER BY id LIMIT ?3
            """, [.text(after ?? ""), Self.list(partitions), .integer(Int64(limit) + 1)]
        ) { try make($0.blob(0)) }
        return Self.page(items, limit: limit, name: id)
    }

    private static func page<Item>(_ items: [Item], limit: Int, name: (Item) -> String) -> Page<Item> {
        let page = Array(items.prefix(limit))
        return Page(items: page, next: items.count > limit ? page.last.map(name) : nil)
    }

    /// Words without quotes as a JSON array; null where nothing is filtered.
    private static func list(_ words: [String]?) -> SQLValue {
        SQLValue(words.map { "[" + $0.map { "\"\($0)\"" }.joined(separator: ",") + "]" })
    }

    static func list(_ partitions: [PartitionID]?) -> SQLValue { list(partitions?.map(\.text)) }
}

/// Parameters on their way to a reader thread.
private struct Values: Sendable {
    let values: [SQLValue]
    init(_ values: [SQLValue]) { self.values = values }
}
