import CacheCore
import Synchronization

/// Hashes an open file in steps. One caller at a time.
final class BodyCheck: Sendable {
    private struct State: ~Copyable {
        var hash = SHA256()
        var offset: Int64 = 0
    }

    /// Bytes of one step: some milliseconds on a warm disk.
    private static let stepLength: Int64 = 4 << 20

    private let file: FileHandle
    private let state = Mutex(State())

    init(_ file: FileHandle) { self.file = file }

    /// Bytes hashed so far.
    var length: Int64 { state.withLock { $0.offset } }

    /// Hashes the next bytes; false once all are hashed.
    func advance() throws(FileError) -> Bool {
        try state.withLock { (state) throws(FileError) in
            let end = state.offset + Self.stepLength
            while state.offset < end {
                let piece = try file.read(at: state.offset, count: 1 << 18)
                if piece.isEmpty { return false }
                state.hash.update(piece)
                state.offset += Int64(piece.count)
            }
            return true
        }
    }

    /// The same for who uses the store.
    func step() throws(StoreError) -> Bool {
        do throws(FileError) { return try advance() } catch { throw error.storeError }
    }

    /// The digest of all that was hashed, once.
    func finish() -> Digest {
        state.withLock { state in
            var taken = SHA256()
            swap(&taken, &state.hash)
            return taken.finish()
        }
    }
}
