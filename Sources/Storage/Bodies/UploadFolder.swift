import CacheCore
import Glibc
import Synchronization

/// The files of uploads: `uploads/ID`, appended to until they are sealed. The offset up to which a file counts is in its row: what
/// lies behind it after a crash was never promised. Only those that were used last stay open, so that any number of unfinished uploads
/// takes few descriptors. Callable from any thread; the calls block on the disk.
final class UploadFolder: Sendable {
    /// How many stay open.
    static let openLimit = 32

    private struct State {
        var files: [String: UploadFile] = [:]
        /// Those that stay open, the one that was used last at the end.
        var recent: [String] = []
    }

    private let path: String
    private let state = Mutex(State())

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
        let file = UploadFile(id, in: path, handle, offset: 0)
        state.withLock { $0.files[id] = file }
        noteUse(of: file, id)
    }

    /// Hands the file of an upload to `body`, cut to the offset of its row where this process opens it first.
    func use<Value>(
        _ upload: Upload, _ body: (UploadFile) throws(FileError) -> Value
    ) throws(FileError) -> Value {
        let file = try file(upload)
        // After the use: what it has opened counts, also where it failed.
        defer { noteUse(of: file, upload.id) }
        return try body(file)
    }

    private func file(_ upload: Upload) throws(FileError) -> UploadFile {
        if let file = state.withLock({ $0.files[upload.id] }) { return file }
        return try state.withLock { (state) throws(FileError) in
            if let earlier = state.files[upload.id] { return earlier }
            let file = UploadFile(upload.id, in: path, offset: upload.offset)
            try file.cut()
            state.files[upload.id] = file
            return file
        }
    }

    /// Closes those beyond the limit that were not used for longest.
    private func noteUse(of file: UploadFile, _ id: String) {
        let resting: [UploadFile] = state.withLock { state in
            // Removed meanwhile: it is closed with its last use.
            guard state.files[id] === file else { return [] }
            if let place = state.recent.lastIndex(of: id) { state.recent.remove(at: place) }
            state.recent.append(id)
            let surplus = max(0, state.recent.count - Self.openLimit)
            defer { state.recent.removeFirst(surplus) }
            return state.recent.prefix(surplus).compactMap { state.files[$0] }
        }
        for file in resting { file.close() }
    }

    /// Has an upload taken pieces again that was sealed for what could not be noted.
    func unseal(_ id: String) { state.withLock { $0.files[id] }?.unseal() }

    func remove(_ id: String) {
        state.withLock { state in
            state.files[id] = nil
            state.recent.removeAll { $0 == id }
        }
        _ = unsafe unlink(path(of: id))
    }

    /// Removes the files that no row speaks of.
    func removeAll(but known: Set<String>) {
        for name in Folder.names(path) where !known.contains(name) { remove(name) }
    }
}
