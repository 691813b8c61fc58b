package import CacheCore
import Synchronization

/// Uploads in memory, for tests. Sealed ones become contents of the given store.
package final class MemoryUploads: UploadStore {
    private let kept = Mutex<[String: (upload: Upload, bytes: [UInt8])]>([:])
    private let store: any Store

    package init(store: any Store) { self.store = store }

    package func create(_ upload: Upload) async throws(StoreError) { kept.withLock { $0[upload.id] = (upload, []) } }

    package func upload(_ id: String) async throws(StoreError) -> Upload? { kept.withLock { $0[id]?.upload } }

    package func uploads(
        partitions: [PartitionID]?, after: String?, limit: Int
    ) async throws(StoreError) -> Page<Upload> {
        let all = kept.withLock { $0.values.map(\.upload) }
            .filter { (partitions?.contains($0.partition) ?? true) && $0.id > after ?? "" }.sorted { $0.id < $1.id }
        let items = Array(all.prefix(limit))
        return Page(items: items, next: all.count > limit ? items.last?.id : nil)
    }

    package func makeRoom(for bytes: Int64) async throws(StoreError) {
        try await store.makeBody(for: .operation, length: bytes).discard()
    }

    package func append(
        _ piece: [UInt8], to id: String, at offset: Int64
    ) async throws(StoreError) -> UploadAppend {
        kept.withLock { kept in
            guard let upload = kept[id]?.upload else { return .absent }
            guard upload.content == nil else { return .sealed }
            guard upload.offset == offset else { return .elsewhere(upload.offset) }
            kept[id]?.bytes += piece
            kept[id]?.upload.offset += Int64(piece.count)
            return .taken
        }
    }

    package func truncate(_ id: String, to offset: Int64) async throws(StoreError) {
        kept.withLock { kept in
            guard let bytes = kept[id]?.bytes else { return }
            kept[id]?.bytes = Array(bytes.prefix(Int(offset)))
            kept[id]?.upload.offset = offset
        }
    }

    package func seal(_ id: String) async throws(StoreError) -> Content? {
        guard let bytes = kept.withLock({ $0[id]?.bytes }) else { return nil }
        let content = try await store.makeContent(bytes, for: .operation)
        kept.withLock { $0[id]?.upload.content = content }
        return content
    }

    package func removeUpload(_ id: String) async throws(StoreError) -> Bool {
        kept.withLock { $0.removeValue(forKey: id) != nil }
    }
}

/// A hash that tells bytes apart and has the length of a real one, which is all that a test needs.
package final class PlainHash: RunningHash {
    private let sum = Mutex<UInt64>(0xcbf2_9ce4_8422_2325)
    private let algorithm: HashAlgorithm

    package init(_ algorithm: HashAlgorithm) { self.algorithm = algorithm }

    package func update(_ bytes: [UInt8]) {
        sum.withLock { sum in for byte in bytes { sum = (sum ^ UInt64(byte)) &* 0x100_0000_01b3 } }
    }

    package func finish() -> [UInt8] {
        let sum = sum.withLock { $0 }
        return (0..<algorithm.length).map { UInt8(truncatingIfNeeded: sum >> (UInt64($0 % 8) * 8)) }
    }
}
