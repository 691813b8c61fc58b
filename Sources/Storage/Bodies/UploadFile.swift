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

    private let folder: String
    private let path: String
    private let state: Mutex<State>

    /// The file `name` in `folder`. `handle`: of it, where it is open already; `offset`: how many of its bytes count.
    init(_ name: String, in folder: String, _ handle: FileHandle? = nil, offset: Int64) {
        self.folder = folder
        path = folder + "/" + name
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

    /// Gives all that is here to `body`; nothing can be appended then, unless that throws, before `unseal`.
    func seal<Value>(_ body: (FileHandle) throws(FileError) -> Value) throws(FileError) -> Value {
        try state.withLock { (state) throws(FileError) in
            let handle = try opened(&state)
            // Behind what has arrived may lie a part of a piece that failed.
            try handle.truncate(to: state.written)
            try synchronise(&state)
            // What shares its bytes with a body from here on is written through this descriptor no more.
            state.handle = nil
            let value = try body(handle)
            state.isSealed = true
            return value
        }
    }

    /// Takes pieces again: what it was sealed for could not be noted.
    func unseal() { state.withLock { $0.isSealed = false } }

    private func opened(_ state: inout State) throws(FileError) -> FileHandle {
        if let handle = state.handle { return handle }
        let handle = try writable()
        state.handle = handle
        return handle
    }

    /// Opens the file to be written. One that was sealed, by what then failed or before a crash, shares its bytes with a body, which must
    /// not change: it becomes a file of its own.
    private func writable() throws(FileError) -> FileHandle {
        let file = try FileHandle(path: path, flags: O_RDONLY)
        guard try file.isShared else {
            _ = unsafe chmod(path, 0o600)
            return try FileHandle(path: path, flags: O_RDWR)
        }
        let copy = try FileHandle(path: path + ".new", flags: O_RDWR | O_CREAT | O_TRUNC)
        try file.copy(to: copy)
        try copy.synchronize()
        guard unsafe rename(path + ".new", path) == 0 else { throw FileError("rename") }
        try Folder.synchronize(folder)
        return copy
    }
}
