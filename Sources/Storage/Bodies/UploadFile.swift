import CacheCore
import Glibc
import Synchronization

/// The file of one upload, opened where it is needed. Its lock is held during disk work, by threads that may block alone.
final class UploadFile: Sendable {
    /// Bytes that may be unsynchronised before they are put on disk: what a crash costs at most.
    private static let syncInterval: Int64 = 8 << 20

    private struct State {
        /// nil while it is closed: then all that was written is on disk.
        var handle: FileHandle?
        var written: Int64
        var synchronised: Int64
        var isSealed = false
    }

    private let path: String
    private let state: Mutex<State>

    /// `handle`: of the file at `path`; `offset`: how many of its bytes count.
    init(_ handle: FileHandle, path: String, offset: Int64) {
        self.path = path
        state = Mutex(State(handle: handle, written: offset, synchronised: offset))
    }

    /// Adds a piece at `offset`; the second value tells that it is time to synchronise.
    func append(_ piece: [UInt8], at offset: Int64) throws(FileError) -> (UploadAppend, isDue: Bool) {
        try state.withLock { (state) throws(FileError) in
            guard !state.isSealed else { return (.sealed, false) }
            guard state.written == offset else { return (.elsewhere(state.written), false) }
            // Where it fails a part of the piece may be there: the next one overwrites it.
            try opened(&state).write(piece, at: offset)
            state.written += Int64(piece.count)
            return (.taken, state.written - state.synchronised >= Self.syncInterval)
        }
    }

    /// Puts on disk what has arrived; how much that is. What could not be put there is dropped, to be sent again: a later fsync would
    /// confirm it though it is not there.
    func synchronise() throws(FileError) -> Int64 {
        try state.withLock { (state) throws(FileError) in
            try synchronise(&state)
            return state.written
        }
    }

    private func synchronise(_ state: inout State) throws(FileError) {
        guard state.synchronised < state.written else { return }
        do throws(FileError) { try opened(&state).synchronize() } catch {
            state.written = state.synchronised
            throw error
        }
        state.synchronised = state.written
    }

    /// Gives the descriptor back until the next use. What has arrived is put on disk first: the kernel tells of what it could not write
    /// only to those who have the file open.
    func close() {
        state.withLock { state in
            try? synchronise(&state)
            state.handle = nil
        }
    }

    /// Drops what lies behind `offset`.
    func truncate(to offset: Int64) throws(FileError) {
        try state.withLock { (state) throws(FileError) in
            guard !state.isSealed, offset < state.written else { return }
            try opened(&state).truncate(to: offset)
            state.written = offset
            state.synchronised = min(state.synchronised, offset)
        }
    }

    /// Makes the file as long as it counts.
    func cut() throws(FileError) {
        try state.withLock { (state) throws(FileError) in try opened(&state).truncate(to: state.written) }
    }

    /// Gives all that is here to `body`; nothing can be appended unless that throws.
    func seal<Value>(_ body: (FileHandle) throws(FileError) -> Value) throws(FileError) -> Value {
        try state.withLock { (state) throws(FileError) in
            let handle = try opened(&state)
            // Behind what has arrived may lie a part of a piece that failed.
            try handle.truncate(to: state.written)
            try synchronise(&state)
            let value = try body(handle)
            state.isSealed = true
            return value
        }
    }

    private func opened(_ state: inout State) throws(FileError) -> FileHandle {
        if let handle = state.handle { return handle }
        let handle = try FileHandle(path: path, flags: O_RDWR)
        state.handle = handle
        return handle
    }
}
