import CacheCore
import Synchronization

/// Hashes and keeps a body as it arrives: in memory while it is short, in a temporary file beyond. The file is written in whole
/// units, for the system keeps a file in pieces as large as its writes were, and sends it the faster the larger they are.
final class StoredBodyWriter: BodyWriter {
    /// What the disk works on. Locked while it does.
    private struct State: ~Copyable {
        /// nil once the body is over.
        var hash: SHA256? = SHA256()
        var file: (handle: FileHandle, path: String)?
        var isOver = false
    }

    /// What has arrived, for readers. Apart from the state, so that they never wait for the disk.
    private struct Arrived {
        var length: Int64 = 0
        /// The file, also once it has its place.
        var file: FileHandle?
        /// The last bytes, which are not in the file yet.
        var rest: [UInt8] = []

        /// How many are in the file.
        var saved: Int64 { length - Int64(rest.count) }

        /// Bytes of the unit that is being filled. Large ones only of bodies that are worth it: those that stall keep theirs.
        func unit(_ inlineThreshold: Int) -> Int { max(saved < 1 << 20 ? 1 << 16 : 1 << 18, inlineThreshold) }
    }

    private let state = Mutex(State())
    private let arrived = Mutex(Arrived())
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
        try await checkLength(arrived.withLock { $0.length } + Int64(piece.count))
        guard state.withLock({ !$0.isOver }) else { throw Self.givenUp }
        var left = piece[...]
        while true {
            arrived.withLock { arrived in
                let taken = left.prefix(arrived.unit(inlineThreshold) - arrived.rest.count)
                arrived.rest += taken
                arrived.length += Int64(taken.count)
                left = left.dropFirst(taken.count)
            }
            // A unit is written when more comes: a short body may just fill it.
            if left.isEmpty { return }
            try await files.run { [self] () throws(StoreError) in
                try state.withLock { (state) throws(StoreError) in
                    guard !state.isOver else { throw Self.givenUp }
                    try save(&state)
                }
            }
        }
    }

    /// Writes the rest, on a thread that may block.
    private func save(_ state: inout State) throws(StoreError) {
        let (rest, saved) = arrived.withLock { ($0.rest, $0.saved) }
        do throws(FileError) {
            if state.file == nil { state.file = try bodies.makeTemporary() }
            guard let handle = state.file?.handle else { return }
            try handle.write(rest, at: saved)
            arrived.withLock { arrived in
                arrived.file = handle
                arrived.rest.removeAll(keepingCapacity: true)
            }
        } catch {
            throw error.storeError
        }
        state.hash?.update(rest)
    }

    func finish() async throws(StoreError) -> Content {
        let short = try state.withLock { (state) throws(StoreError) -> Content? in
            let rest = arrived.withLock { $0.rest }
            guard state.file == nil, rest.count <= inlineThreshold else { return nil }
            state.hash?.update(rest)
            return Content(digest: try Self.close(&state), length: Int64(rest.count), inline: rest)
        }
        if let short { return short }
        return try await files.run { [self] () throws(StoreError) in
            try state.withLock { (state) throws(StoreError) in
                guard !state.isOver else { throw Self.givenUp }
                try save(&state)
                let digest = try Self.close(&state)
                guard let file = state.file.take() else { throw Self.givenUp }
                do throws(FileError) {
                    let hold = try bodies.place(file.handle, at: file.path, as: digest)
                    return Content(digest: digest, length: arrived.withLock { $0.length }, inline: nil, hold: hold)
                } catch {
                    bodies.removeTemporary(file.path)
                    throw error.storeError
                }
            }
        }
    }

    private static func close(_ state: inout State) throws(StoreError) -> Digest {
        guard !state.isOver, let digest = state.hash.take()?.finish() else { throw givenUp }
        state.isOver = true
        return digest
    }

    func written(_ range: Range<Int64>) async throws(StoreError) -> [UInt8] {
        let (file, inFile, rest) = arrived.withLock { arrived in
            let inFile = range.clamped(to: 0..<arrived.saved)
            let rest = range.clamped(to: arrived.saved..<arrived.length)
            let offset = Int(rest.lowerBound - arrived.saved)
            return (arrived.file, inFile, Array(arrived.rest[offset..<offset + rest.count]))
        }
        var bytes = rest
        if let file, !inFile.isEmpty {
            bytes = try await files.run { () throws(StoreError) in
                do throws(FileError) {
                    return try file.read(at: inFile.lowerBound, count: inFile.count) + rest
                } catch {
                    throw error.storeError
                }
            }
        }
        guard bytes.count == range.count else { throw Self.givenUp }
        return bytes
    }

    func discard() {
        state.withLock { state in
            state.isOver = true
            if let file = state.file { bodies.removeTemporary(file.path) }
            state.file = nil
        }
        arrived.withLock { $0.rest = [] }
    }

    private static let givenUp = StoreError.failed(reason: "the body was given up")
}
