import CacheCore

extension StoreTransaction {
    func upload(_ id: String) throws -> Upload? {
        let statement = try connection.statement("SELECT record FROM uploads WHERE id = ?")
        try statement.bind([.text(id)])
        defer { statement.reset() }
        return try statement.step() ? try Upload(record: statement.blob(0)) : nil
    }

    /// Inserts or replaces by id.
    mutating func put(_ upload: Upload) throws {
        let old = try self.upload(upload.id)
        let record = upload.record
        try refer(to: upload.contents, insteadOf: old?.contents ?? [], held: true)
        addOperationBytes(
            Int64(record.count) + upload.fileBytes - (old.map { Int64($0.record.count) + $0.fileBytes } ?? 0))
        try connection.run(
            "INSERT OR REPLACE INTO uploads VALUES(?, ?, ?, ?)", .text(upload.id), .text(upload.partition.text),
            .real(upload.changedAt), .blob(record))
    }

    /// False where there is none.
    @discardableResult
    mutating func removeUpload(_ id: String) throws -> Bool {
        guard let old = try upload(id) else { return false }
        try refer(to: [], insteadOf: old.contents, held: true)
        addOperationBytes(-Int64(old.record.count) - old.fileBytes)
        try connection.run("DELETE FROM uploads WHERE id = ?", .text(id))
        dropUpload(id)
        return true
    }
}
