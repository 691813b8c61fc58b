import CacheCore
import Glibc
import Synchronization

/// The files of uploads: `uploads/ID`, appended to until they are sealed. The offset up to which a file counts is in its row: what
/// lies behind it after a crash was never promised. Callable from any thread; the calls block on the disk.
final class UploadFolder: Sendable {
    private let path: String
    private let open = Mutex<[String: UploadFile]>([:])

    init(path: String) throws(FileError) {
        self.path = path
        try Folder.make(path)
    }

    /// Where the bytes of an upload lie.
    func path(of id: String) -> String { path + "/" + id }

    /// An empty file, on disk with its folder.
    func make(_ id: String) throws(FileError) {
        let handle = try FileHandle(path: path(of: id), flags: O_RDWR | O_CREAT | O_EXCL)
        try handle.synchronize()
        try Folder.synchronize(path)
        open.withLock { $0[id] = UploadFile(handle, offset: 0) }
    }

    /// The file of an upload, cut to the offset of its row where this process opens it first.
    func file(_ upload: Upload) throws(FileError) -> UploadFile {
        if let file = open.withLock({ $0[upload.id] }) { return file }
        return try open.withLock { (open) throws(FileError) in
            if let earlier = open[upload.id] { return earlier }
            let file = UploadFile(try writable(upload), offset: upload.offset)
            try file.cut()
            open[upload.id] = file
            return file
        }
    }

    /// Opens the file to be written. One that a crash left sealed shares its bytes with a body, which must not change: it becomes a
    /// file of its own.
    private func writable(_ upload: Upload) throws(FileError) -> FileHandle {
        let path = path(of: upload.id)
        let file = try FileHandle(path: path, flags: O_RDONLY)
        guard try file.isShared else {
            _ = unsafe chmod(path, 0o600)
            return try FileHandle(path: path, flags: O_RDWR)
        }
        let copy = try FileHandle(path: path + ".new", flags: O_RDWR | O_CREAT | O_TRUNC)
        try file.copy(to: copy)
        try copy.synchronize()
        guard unsafe rename(path + ".new", path) == 0 else { throw FileError("rename") }
        try Folder.synchronize(self.path)
        return copy
    }

    func remove(_ id: String) {
        open.withLock { $0[id] = nil }
        _ = unsafe unlink(path(of: id))
    }

    /// Removes the files that no row speaks of.
    func removeAll(but known: Set<String>) {
        for name in Folder.names(path) where !known.contains(name) { remove(name) }
    }
}

/// One open upload. Its lock is held during disk work, by threads that may block alone.
final class UploadFile: Sendable {
    /// Bytes that may be unsynchronised before they are put on disk: what a crash costs at most.
    private static let syncInterval: Int64 = 8 << 20

    private struct State {
        var written: Int64
        var synchronised: Int64
        var isSealed = false
    }

    private let handle: FileHandle
    private let state: Mutex<State>

    init(_ handle: FileHandle, offset: Int64) {
        self.handle = handle
        state = Mutex(State(written: offset, synchronised: offset))
    }

    /// Bytes that have arrived.
    var written: Int64 { state.withLock { $0.written } }

    /// Adds a piece at `offset`; the second value tells that it is time to synchronise.
    func append(_ piece: [UInt8], at offset: Int64) throws(FileError) -> (UploadAppend, isDue: Bool) {
        try state.withLock { (state) throws(FileError) in
            guard !state.isSealed else { return (.sealed, false) }
            guard state.written == offset else { return (.elsewhere(state.written), false) }
            // Where it fails a part of the piece may be there: the next one overwrites it.
            try handle.write(piece, at: offset)
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
        do throws(FileError) { try handle.synchronize() } catch {
            state.written = state.synchronised
            throw error
        }
        state.synchronised = state.written
    }

    /// Drops what lies behind `offset`.
    func truncate(to offset: Int64) throws(FileError) {
        try state.withLock { (state) throws(FileError) in
            guard !state.isSealed, offset < state.written else { return }
            try handle.truncate(to: offset)
            state.written = offset
            state.synchronised = min(state.synchronised, offset)
        }
    }

    /// Makes the file as long as it counts.
    func cut() throws(FileError) {
        try state.withLock { (state) throws(FileError) in try handle.truncate(to: state.written) }
    }

    /// Gives all that is here to `body`; nothing can be appended unless that throws.
    func seal<Value>(_ body: (FileHandle) throws(FileError) -> Value) throws(FileError) -> Value {
        try state.withLock { (state) throws(FileError) in
            // Behind what has arrived may lie a part of a piece that failed.
            try handle.truncate(to: state.written)
            try synchronise(&state)
            let value = try body(handle)
            state.isSealed = true
            return value
        }
    }
}
