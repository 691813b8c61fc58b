import CacheCore
import Synchronization

/// Gathers a body for a `MemoryStore`.
final class MemoryBodyWriter: BodyWriter {
    private let store: MemoryStore
    private let bytes = Mutex<[UInt8]>([])

    init(store: MemoryStore) { self.store = store }

    func append(_ piece: [UInt8]) async throws(StoreError) {
        let length = bytes.withLock { bytes in
            bytes += piece
            return Int64(bytes.count)
        }
        try store.check(adding: length)
    }

    func finish() async throws(StoreError) -> Content { store.keep(bytes.withLock { $0 }) }
    func written(_ range: Range<Int64>) async throws(StoreError) -> [UInt8] {
        bytes.withLock { Array($0[Int(range.lowerBound)..<Int(range.upperBound)]) }
    }

    func discard() { bytes.withLock { $0 = [] } }
}

/// A body source over bytes in memory, in pieces of at most 64 KiB.
package final class MemoryBodySource: BodySource {
    private let rest: Mutex<ArraySlice<UInt8>>

    package init(_ bytes: [UInt8]) { rest = Mutex(bytes[...]) }

    package func next() async throws -> [UInt8]? {
        rest.withLock { rest in
            guard !rest.isEmpty else { return nil }
            let piece = Array(rest.prefix(65_536))
            rest = rest.dropFirst(piece.count)
            return piece
        }
    }

    package func cancel() { rest.withLock { $0 = [] } }
}
