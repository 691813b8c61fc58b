package import CacheCore
import Synchronization

extension SQLiteStore: UploadStore {
    package func create(_ upload: Upload) async throws(StoreError) {
        try await onFile { [shared] () throws(FileError) in try shared.uploads.make(upload.id) }
        do throws(StoreError) {
            try await write(.other { try $0.put(upload) }, durable: true)
        } catch {
            shared.uploads.remove(upload.id)
            throw error
        }
    }

    package func upload(_ id: String) async throws(StoreError) -> Upload? {
        guard var upload = try await stored(id) else { return nil }
        guard upload.content == nil else { return upload }
        let offset = try await onFile { [shared, upload] () throws(FileError) in
            try shared.uploads.use(upload) { (file) throws(FileError) in try file.synchronise() }
        }
        if offset > upload.offset {
            try await record(offset, of: id)
            upload.offset = offset
            upload.changedAt = shared.clock.now
        }
        return upload
    }

    package func uploads(
        partitions: [PartitionID]?, after: String?, limit: Int
    ) async throws(StoreError) -> Page<Upload> {
        try await records(of: "uploads", partitions, after, limit, { try Upload(record: $0) }, id: \.id)
    }

    package func makeRoom(for bytes: Int64) async throws(StoreError) {
        try await checkRoom(for: bytes, purpose: .operation)
    }

    package func append(
        _ piece: [UInt8], to id: String, at offset: Int64
    ) async throws(StoreError) -> UploadAppend {
        guard let upload = try await stored(id) else { return .absent }
        guard upload.content == nil else { return .sealed }
        try await checkRoom(for: offset - upload.offset + Int64(piece.count), purpose: .operation)
        let (outcome, isDue) = try await onFile { [shared] () throws(FileError) in
            try shared.uploads.use(upload) { (file) throws(FileError) in try file.append(piece, at: offset) }
        }
        if isDue { _ = try await self.upload(id) }
        return outcome
    }

    package func truncate(_ id: String, to offset: Int64) async throws(StoreError) {
        guard let upload = try await stored(id), upload.content == nil else { return }
        // The row first: its offset must never lie behind what the file has.
        if offset < upload.offset { try await record(offset, of: id) }
        try await onFile { [shared] () throws(FileError) in
            try shared.uploads.use(upload) { (file) throws(FileError) in try file.truncate(to: offset) }
        }
    }

    package func seal(_ id: String) async throws(StoreError) -> Content? {
        guard let upload = try await stored(id) else { return nil }
        if let content = upload.content { return try await use(content, of: id) }
        let content = try await onFile { [shared] () throws(FileError) in
            try shared.uploads.use(upload) { (file) throws(FileError) in
                try file.seal { (file) throws(FileError) in
                    try shared.bodies.take(file, from: shared.uploads.path(of: id))
                }
            }
        }
        do throws(StoreError) {
            return try await use(content, of: id)
        } catch {
            shared.uploads.unseal(id)
            throw error
        }
    }

    package func removeUpload(_ id: String) async throws(StoreError) -> Bool {
        let isThere = Mutex(false)
        try await write(
            .freeing { transaction in
                let wasThere = try transaction.removeUpload(id)
                isThere.withLock { $0 = wasThere }
            }, durable: true)
        return isThere.withLock { $0 }
    }

    // MARK: Rows

    private func stored(_ id: String) async throws(StoreError) -> Upload? {
        try await rows("SELECT record FROM uploads WHERE id = ?", [.text(id)]) { try Upload(record: $0.blob(0)) }.first
    }

    /// Notes how much is there; what was removed meanwhile stays removed.
    private func record(_ offset: Int64, of id: String) async throws(StoreError) {
        let now = shared.clock.now
        try await write(
            .other { transaction in
                guard var upload = try transaction.upload(id), upload.content == nil else { return }
                upload.offset = offset
                upload.changedAt = now
                try transaction.put(upload)
            }, durable: true)
    }

    /// Notes that a write uses the body. nil: the upload was removed meanwhile.
    private func use(_ content: Content, of id: String) async throws(StoreError) -> Content? {
        let held = Content(
            digest: content.digest, length: content.length, inline: nil, hold: shared.bodies.hold(content.digest))
        let isThere = Mutex(false)
        let now = shared.clock.now
        try await write(
            .other { transaction in
                guard var upload = try transaction.upload(id) else { return }
                upload.content = content
                upload.offset = content.length
                upload.changedAt = now
                try transaction.put(upload)
                isThere.withLock { $0 = true }
            }, durable: true)
        guard isThere.withLock({ $0 }) else { return nil }
        shared.uploads.remove(id)
        return held
    }

    private func onFile<Value: Sendable>(
        _ body: @escaping @Sendable () throws(FileError) -> Value
    ) async throws(StoreError) -> Value {
        try await files.run { () throws(StoreError) in
            do throws(FileError) { return try body() } catch { throw error.storeError }
        }
    }
}
