import CacheCore
import Synchronization

/// Hashes and keeps a body as it arrives: in memory while it is short, in a temporary file beyond.
final class StoredBodyWriter: BodyWriter {
    fileprivate struct State: ~Copyable {
        /// nil once the body is over.
        var hash: SHA256? = SHA256()
        var length: Int64 = 0
        var short: [UInt8] = []
        var file: (handle: FileHandle, path: String)?
        var isOver = false
    }
    private let state = Mutex(State())
    /// The file, also once it has its place. Apart from the state, which is locked while the disk works.
    private let readable = Mutex<FileHandle?>(nil)
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
            state.hash?.update(piece)
            state.length = length
            return true
        }
        if isShort { return }
        try await files.run { [self] () throws(StoreError) in
            try state.withLock { (state) throws(StoreError) in
                guard !state.isOver else { throw .failed(reason: "the body was given up") }
                do throws(FileError) {
                    if state.file == nil {
                        let made = try bodies.makeTemporary()
                        state.file = made
                        readable.withLock { $0 = made.handle }
                    }
                    guard let file = state.file else { return }
                    if !state.short.isEmpty { try file.handle.write(state.short, at: 0) }
                    state.short = []
                    try file.handle.write(piece, at: state.length)
                } catch {
                    throw error.storeError
                }
                state.hash?.update(piece)
                state.length = length
            }
        }
    }

    func finish() async throws(StoreError) -> Content {
        let (content, file) = try state.withLock { (state) throws(StoreError) in
            guard !state.isOver, let digest = state.hash.take()?.finish() else {
                throw .failed(reason: "the body was given up")
            }
            state.isOver = true
            let file = state.file
            state.file = nil
            let content = Content(
                digest: digest, length: state.length, inline: file == nil ? state.short : nil)
            return (content, file)
        }
        guard let file else { return content }
        return try await files.run { [bodies] () throws(StoreError) in
            do throws(FileError) {
                let hold = try bodies.place(file.handle, at: file.path, as: content.digest)
                return Content(digest: content.digest, length: content.length, inline: nil, hold: hold)
            } catch {
                bodies.removeTemporary(file.path)
                throw error.storeError
            }
        }
    }

    func written(_ range: Range<Int64>) async throws(StoreError) -> [UInt8] {
        let bytes: [UInt8]
        if let file = readable.withLock({ $0 }) {
            bytes = try await files.run { () throws(StoreError) in
                do throws(FileError) { return try file.read(at: range.lowerBound, count: range.count) } catch {
                    throw error.storeError
                }
            }
        } else {
            bytes = state.withLock { Array($0.short.dropFirst(Int(range.lowerBound)).prefix(range.count)) }
        }
        guard bytes.count == range.count else { throw .failed(reason: "the body was given up") }
        return bytes
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
