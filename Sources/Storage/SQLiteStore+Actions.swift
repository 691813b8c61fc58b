package import CacheCore

extension SQLiteStore: ActionStore {
    package func put(_ action: Action) async throws(StoreError) {
        try await write(.other { try $0.put(action) }, durable: true)
    }

    package func action(_ id: String) async throws(StoreError) -> Action? {
        try await rows("SELECT record FROM actions WHERE id = ?", [.text(id)]) { try Action(record: $0.blob(0)) }.first
    }

    package func actions(
        partitions: [PartitionID]?, after: String?, limit: Int
    ) async throws(StoreError) -> Page<Action> {
        try await records(of: "actions", partitions, after, limit, { try Action(record: $0) }, id: \.id)
    }

    package func unfinishedActions() async throws(StoreError) -> [Action] {
        try await rows("SELECT record FROM actions WHERE finished_at IS NULL ORDER BY id", []) {
            try Action(record: $0.blob(0))
        }
    }
}

extension StoreTransaction {
    /// Inserts or replaces by id.
    mutating func put(_ action: Action) throws {
        let record = action.record
        addOperationBytes(Int64(record.count) - (try bytes(ofAction: action.id)))
        try connection.run(
            "INSERT OR REPLACE INTO actions VALUES(?, ?, ?, ?)", .text(action.id), .text(action.partition.text),
            SQLValue(action.finishedAt), .blob(record))
    }

    mutating func removeAction(_ id: String) throws {
        addOperationBytes(-(try bytes(ofAction: id)))
        try connection.run("DELETE FROM actions WHERE id = ?", .text(id))
    }

    private func bytes(ofAction id: String) throws -> Int64 {
        let statement = try connection.statement("SELECT length(record) FROM actions WHERE id = ?")
        try statement.bind([.text(id)])
        defer { statement.reset() }
        return try statement.step() ? statement.integer(0) : 0
    }
}
