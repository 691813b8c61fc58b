import CacheCore
import Synchronization

/// Hashes and keeps a body as it arrives: in memory while it is short, in a temporary file beyond.
final class StoredBodyWriter: BodyWriter {
    fileprivate struct State: ~Copyable {
        var hash = SHA256()
        var length: Int64 = 0
        var short: [UInt8] = []
        var file: (handle: FileHandle, path: String)?
        var isOver = false
    }
    private let state = Mutex(State())
    private let bodies: BodyFolder
    private let files: FileThreads
    private let inlineThreshold: Int
    /// Throws where the body may not grow to a length.
    private let checkLength: @Sendable (Int64) async throws(StoreError) -> Void

    init(
        bodies: BodyFolder, files: FileThreads, inlineThreshold: Int,
        checkLength: @escaping @Sendable (Int64) async throws(StoreError) -> Void
    ) {
        self.bodies = bodies
        self.files = files
        self.inlineThreshold = inlineThreshold
        self.checkLength = checkLength
    }

    deinit { discard() }

    func append(_ piece: [UInt8]) async throws(StoreError) {
        guard !piece.isEmpty else { return }
        let length = state.withLock { $0.length } + Int64(piece.count)
        try await checkLength(length)
        let isShort = state.withLock { state in
            guard length <= Int64(inlineThreshold), !state.isOver else { return false }
            state.short += piece
            state.hash.update(piece)
            state.length = length
            return true
        }
        if isShort { return }
        try await files.run { [self] () throws(StoreError) in
            try state.withLock { (state) throws(StoreError) in
                guard !state.isOver else { throw .failed(reason: "the body was given up") }
                do throws(FileError) {
                    if state.file == nil { state.file = try bodies.makeTemporary() }
                    guard let file = state.file else { return }
                    if !state.short.isEmpty { try file.handle.write(state.short, at: 0) }
                    state.short = []
                    try file.handle.write(piece, at: state.length)
                } catch {
                    throw error.storeError
                }
                state.hash.update(piece)
                state.length = length
            }
        }
    }

    func finish() async throws(StoreError) -> Content {
        try await files.runUnless(
            state.withLock { state in
                guard state.file == nil, !state.isOver else { return nil }
                state.isOver = true
                return Content(digest: state.takeDigest(), length: state.length, inline: state.short)
            }
        ) { [self] () throws(StoreError) in
            try state.withLock { (state) throws(StoreError) in
                guard !state.isOver, let file = state.file else { throw .failed(reason: "the body was given up") }
                let digest = state.takeDigest()
                do throws(FileError) {
                    let hold = try bodies.place(file.handle, at: file.path, as: digest)
                    state.isOver = true
                    state.file = nil
                    return Content(digest: digest, length: state.length, inline: nil, hold: hold)
                } catch {
                    throw error.storeError
                }
            }
        }
    }

    func discard() {
        state.withLock { state in
            state.isOver = true
            state.short = []
            if let file = state.file { bodies.removeTemporary(file.path) }
            state.file = nil
        }
    }
}

extension StoredBodyWriter.State {
    fileprivate mutating func takeDigest() -> Digest {
        var taken = SHA256()
        swap(&taken, &hash)
        return taken.finish()
    }
}
