/// A body that a client sends in parts, to be used by a write later (design 7).
package struct Upload: Sendable, Hashable {
    package let id: String
    package var partition: PartitionID
    package var mediaType: String?
    /// What the whole will have, in bytes; nil: what is here when a write uses it.
    package var length: Int64?
    /// Bytes that are here and survive kill -9 and power loss.
    package var offset: Int64
    /// Seconds since 1970.
    package var createdAt: Double
    /// When a part last arrived, or a write used it.
    package var changedAt: Double
    /// The bytes as a stored body, once a write has used them: then nothing can be appended any more.
    package var content: Content?

    package init(
        id: String, partition: PartitionID, mediaType: String?, length: Int64?, offset: Int64 = 0, createdAt: Double,
        changedAt: Double, content: Content? = nil
    ) {
        self.id = id
        self.partition = partition
        self.mediaType = mediaType
        self.length = length
        self.offset = offset
        self.createdAt = createdAt
        self.changedAt = changedAt
        self.content = content
    }

    /// Whether all is here that was announced.
    package var isComplete: Bool { length.map { $0 == offset } ?? true }
}

/// What came of a part.
package enum UploadAppend: Sendable, Hashable {
    case taken
    /// The upload stands elsewhere: nothing was taken.
    case elsewhere(Int64)
    /// A write has used it.
    case sealed
    /// There is no such upload.
    case absent
}

/// Keeps uploads, across restarts too. Those that nobody has touched for a day are removed. Callable from any task.
package protocol UploadStore: Sendable {
    /// Begins one, durably.
    func create(_ upload: Upload) async throws(StoreError)

    /// As it stands. What has arrived is on disk when this returns, so that `offset` is true.
    func upload(_ id: String) async throws(StoreError) -> Upload?
    func uploads(
        partitions: [PartitionID]?, after: String?, limit: Int
    ) async throws(StoreError) -> Page<Upload>

    /// Makes room for so many more bytes of an upload, or throws: `full`, or `tooLarge` where it can never have as many. Nothing is set
    /// aside for them.
    func makeRoom(for bytes: Int64) async throws(StoreError)

    /// Adds bytes where the upload stands at `offset`. Two clients that append at once can't mix their bytes.
    func append(_ piece: [UInt8], to id: String, at offset: Int64) async throws(StoreError) -> UploadAppend

    /// Takes back what lies behind `offset`, where the upload is not sealed.
    func truncate(_ id: String, to offset: Int64) async throws(StoreError)

    /// Makes all that is here a stored body, durably; nil where there is no such upload. It can be asked again.
    func seal(_ id: String) async throws(StoreError) -> Content?

    /// Removes it; false where there is none. A body that a write refers to stays.
    func removeUpload(_ id: String) async throws(StoreError) -> Bool
}
