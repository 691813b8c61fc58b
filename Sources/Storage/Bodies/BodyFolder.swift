import CacheCore
import Glibc
import HTTPModel
import Synchronization

/// The body files of a store: `bodies/ab/HEX`, named by digest, never changed in place.
///
/// A lease keeps a file that no row refers to yet. Callable from any thread; the calls block on the disk.
final class BodyFolder: Sendable {
    private struct State {
        var leases: [Digest: Int] = [:]
        var verified: Set<Digest> = []
        var temporaryCount = 0
    }
    private let state = Mutex(State())
    private let path: String
    private var temporary: String { path + "/tmp" }
    private var quarantine: String { path + "/quarantine" }

    /// Makes the folders and removes what unfinished uploads left.
    init(path: String) throws(FileError) {
        self.path = path
        try Folder.make(path)
        try Folder.make(path + "/tmp")
        for name in Folder.names(path + "/tmp") { _ = unsafe unlink(path + "/tmp/" + name) }
    }

    /// Where the bytes of a digest lie.
    func path(of digest: Digest) -> String { folder(of: digest) + "/" + digest.hex }

    /// An empty file for bytes whose digest is not known yet.
    func makeTemporary() throws(FileError) -> (handle: FileHandle, path: String) {
        let number = state.withLock { state in
            state.temporaryCount += 1
            return state.temporaryCount
        }
        let path = temporary + "/\(number)"
        return (try FileHandle(path: path, flags: O_RDWR | O_CREAT | O_EXCL), path)
    }

    /// Removes a temporary file.
    func removeTemporary(_ path: String) { _ = unsafe unlink(path) }

    /// Gives a temporary file its place, durably, and takes a lease. An existing file of the digest is used in its place where it was
    /// verified; one that was not is replaced, for it may be damaged.
    func place(_ file: FileHandle, at temporaryPath: String, as digest: Digest) throws(FileError) {
        try file.synchronize()
        let folder = folder(of: digest)
        try Folder.make(folder)
        let error: FileError? = state.withLock { state in
            let isThere = unsafe access(path(of: digest), F_OK) == 0
            let isKnown = isThere && state.verified.contains(digest)
            if isKnown {
                _ = unsafe unlink(temporaryPath)
            } else {
                guard fchmod(file.descriptor, 0o400) == 0 else { return FileError("chmod") }
                guard unsafe rename(temporaryPath, path(of: digest)) == 0 else { return FileError("rename") }
            }
            state.leases[digest, default: 0] += 1
            state.verified.insert(digest)
            return nil
        }
        if let error { throw error }
        do {
            try Folder.synchronize(folder)
            try Folder.synchronize(path)
        } catch {
            release(digest)
            throw error
        }
    }

    /// Ends one lease, if there is one.
    func release(_ digest: Digest) {
        state.withLock { state in
            guard let count = state.leases[digest] else { return }
            state.leases[digest] = count > 1 ? count - 1 : nil
        }
    }

    /// Removes the file of a digest that no row refers to, unless it is leased; false where it is.
    @discardableResult
    func removeUnlessLeased(_ digest: Digest) -> Bool {
        state.withLock { state in
            guard state.leases[digest] == nil else { return false }
            _ = unsafe unlink(path(of: digest))
            state.verified.remove(digest)
            return true
        }
    }

    /// Opens a body, after comparing all of it with its digest where this process has not done so yet.
    func open(_ content: Content) throws(StoreError) -> FileHandle {
        let file: FileHandle
        do {
            file = try FileHandle(path: path(of: content.digest), flags: O_RDONLY)
        } catch {
            throw error.code == ENOENT ? .corrupt(reason: "a body file is missing") : error.storeError
        }
        if state.withLock({ $0.verified.contains(content.digest) }) { return file }
        do {
            guard try digest(of: file) == content.digest else {
                setAside(content.digest)
                throw StoreError.corrupt(reason: "a body file has other bytes than were stored")
            }
        } catch let error as FileError {
            throw error.storeError
        } catch let error as StoreError {
            throw error
        } catch {
            throw .failed(reason: "a body file could not be read")
        }
        state.withLock { state in _ = state.verified.insert(content.digest) }
        return file
    }

    /// Digests of all files that lie here.
    func digests() -> [Digest] {
        Folder.names(path).filter { $0.utf8.count == 2 }.flatMap { folder in
            Folder.names(path + "/" + folder).compactMap { Hex.decode($0).map { Digest(bytes: $0) } }
        }
    }

    private func folder(of digest: Digest) -> String { path + "/" + digest.hex.prefix(2) }

    private func digest(of file: FileHandle) throws(FileError) -> Digest {
        var hash = SHA256()
        var offset: Int64 = 0
        while true {
            let piece = try file.read(at: offset, count: 1 << 18)
            if piece.isEmpty { return hash.finish() }
            hash.update(piece)
            offset += Int64(piece.count)
        }
    }

    private func setAside(_ digest: Digest) {
        try? Folder.make(quarantine)
        _ = unsafe rename(path(of: digest), quarantine + "/" + digest.hex)
    }
}
