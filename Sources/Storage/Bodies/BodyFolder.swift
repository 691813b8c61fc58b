import CacheCore
import Glibc
import HTTPModel
import Synchronization

/// The body files of a store: `bodies/ab/HEX`, named by digest, never changed in place.
///
/// A hold keeps a file that no row refers to yet. Callable from any thread; the calls block on the disk.
final class BodyFolder: Sendable {
    private struct State {
        /// Values that hold a body, by digest.
        var holds: [Digest: Int] = [:]
        /// Bodies that may have no row, to be looked at when their last hold ends.
        var doubtful: Set<Digest> = []
        var verified: Set<Digest> = []
        var setAside: Set<Digest> = []
        /// Files of bytes that lie in rows, the newest last.
        var shown: [BodyHold] = []
        var temporaryCount = 0
    }
    /// How many files of bytes that lie in rows are kept.
    private static let shownLimit = 256

    private let state = Mutex(State())
    private let path: String
    /// How long what nobody refers to stays in a folder where other processes place files too, in seconds: one may be about to. nil
    /// where this process is alone.
    private let patience: Double?
    private let writer = UInt32.random(in: 0...(.max))
    /// Called with a digest that may have no row when its last hold has ended.
    private let released: @Sendable (Digest) -> Void
    private var temporary: String { path + "/tmp" }
    private var quarantine: String { path + "/quarantine" }

    /// Makes the folders and removes what unfinished uploads left.
    init(path: String, patience: Double?, released: @escaping @Sendable (Digest) -> Void) throws(FileError) {
        self.path = path
        self.patience = patience
        self.released = released
        try Folder.make(path)
        try Folder.make(path + "/tmp")
        for name in Folder.names(path + "/tmp") where isOld(path + "/tmp/" + name) {
            _ = unsafe unlink(path + "/tmp/" + name)
        }
        let setAside = Self.digests(in: path + "/quarantine")
        state.withLock { $0.setAside = Set(setAside) }
    }

    /// Where the bytes of a digest lie.
    func path(of digest: Digest) -> String { folder(of: digest) + "/" + digest.hex }

    /// An empty file for bytes whose digest is not known yet.
    func makeTemporary() throws(FileError) -> (handle: FileHandle, path: String) {
        let path = temporaryPath()
        return (try FileHandle(path: path, flags: O_RDWR | O_CREAT | O_EXCL), path)
    }

    private func temporaryPath() -> String {
        let number = state.withLock { state in
            state.temporaryCount += 1
            return state.temporaryCount
        }
        return temporary + "/\(writer)-\(number)"
    }

    /// Removes a temporary file.
    func removeTemporary(_ path: String) { _ = unsafe unlink(path) }

    /// Gives a temporary file its place, durably. An existing file of the digest is used in its place where it was verified; one
    /// that was not is replaced, for it may be damaged. The file stays at least while the hold lives.
    func place(_ file: FileHandle, at temporaryPath: String, as digest: Digest) throws(FileError) -> BodyHold {
        try file.synchronize()
        let folder = folder(of: digest)
        try Folder.make(folder)
        let error: FileError? = state.withLock { state in
            // In a shared folder the new file's age tells others to leave it alone.
            let isKnown = patience == nil && has(digest) && state.verified.contains(digest)
            if isKnown {
                _ = unsafe unlink(temporaryPath)
            } else {
                guard fchmod(file.descriptor, 0o400) == 0 else { return FileError("chmod") }
                guard unsafe rename(temporaryPath, path(of: digest)) == 0 else { return FileError("rename") }
                // What was set aside of these bytes is whole again.
                if state.setAside.remove(digest) != nil { _ = unsafe unlink(quarantine + "/" + digest.hex) }
            }
            state.holds[digest, default: 0] += 1
            state.doubtful.insert(digest)
            state.verified.insert(digest)
            return nil
        }
        if let error { throw error }
        let hold = BodyHold(digest, in: self)
        do throws(FileError) {
            try Folder.synchronize(folder)
            try Folder.synchronize(path)
        } catch {
            // The next fsync of the folder may confirm what this one lost: the next file of these bytes gets the name anew.
            state.withLock { state in _ = state.verified.remove(digest) }
            throw error
        }
        return hold
    }

    /// A file with the bytes of `file`, which lies at `source` on the same file system and stays there too.
    func take(_ file: FileHandle, from source: String) throws(FileError) -> Content {
        let check = BodyCheck(file)
        while try check.advance() {}
        let (length, digest) = (check.length, check.finish())
        let temporary = temporaryPath()
        guard unsafe link(source, temporary) == 0 else { throw FileError("link") }
        do throws(FileError) {
            return Content(
                digest: digest, length: length, inline: nil, hold: try place(file, at: temporary, as: digest))
        } catch {
            removeTemporary(temporary)
            throw error
        }
    }

    /// Keeps the file of a digest while the hold lives.
    func hold(_ digest: Digest) -> BodyHold {
        state.withLock { $0.holds[digest, default: 0] += 1 }
        return BodyHold(digest, in: self)
    }

    /// The content with a hold; nil where its file has gone.
    func held(_ content: Content) -> Content? {
        guard content.inline == nil else { return content }
        let hold = hold(content.digest)
        guard has(content.digest) else { return nil }
        return Content(digest: content.digest, length: content.length, inline: nil, hold: hold)
    }

    fileprivate func end(holdOf digest: Digest) {
        let mayGo = state.withLock { state in
            guard let count = state.holds[digest], count > 1 else {
                state.holds[digest] = nil
                return state.doubtful.remove(digest) != nil
            }
            state.holds[digest] = count - 1
            return false
        }
        if mayGo { released(digest) }
    }

    /// Removes the file of a digest that no row refers to, unless it is held; false where it is.
    @discardableResult
    func removeUnlessHeld(_ digest: Digest) -> Bool {
        state.withLock { state in
            guard state.holds[digest] == nil else {
                state.doubtful.insert(digest)
                return false
            }
            let path = path(of: digest)
            guard isOld(path) else { return false }
            _ = unsafe unlink(path)
            state.verified.remove(digest)
            return true
        }
    }

    /// Whether a file has not been changed for as long as another process may take to refer to it.
    private func isOld(_ path: String) -> Bool {
        guard let patience else { return true }
        var status = stat()
        var now = timespec()
        guard unsafe stat(path, &status) == 0, unsafe clock_gettime(CLOCK_REALTIME, &now) == 0 else { return true }
        return Double(now.tv_sec - status.st_ctim.tv_sec) >= patience
    }

    /// Whether there is a file of the digest, whatever its bytes.
    func has(_ digest: Digest) -> Bool { unsafe access(path(of: digest), F_OK) == 0 }

    /// Opens a body; who reads it compares it with its digest first, where `isVerified` is false.
    func open(_ content: Content) throws(StoreError) -> FileHandle {
        do {
            return try FileHandle(path: path(of: content.digest), flags: O_RDONLY)
        } catch {
            throw error.code == ENOENT ? .corrupt(reason: "a body file is missing") : error.storeError
        }
    }

    /// Whether this process has seen that the file has the bytes of the digest.
    func isVerified(_ digest: Digest) -> Bool { state.withLock { $0.verified.contains(digest) } }

    /// Has the file compared with its digest again before it is read next.
    func doubt(_ digest: Digest) { state.withLock { state in _ = state.verified.remove(digest) } }

    /// Takes note of what a file's bytes came to; sets it aside and throws where that is not its digest.
    func settle(_ digest: Digest, found: Digest) throws(StoreError) {
        guard found == digest else {
            setAside(digest)
            throw .corrupt(reason: "a body file has other bytes than were stored")
        }
        state.withLock { state in _ = state.verified.insert(digest) }
    }

    /// Makes a file of bytes that lie in a row, for who wants to read them from disk. The last ones shown stay.
    func show(_ bytes: [UInt8], as digest: Digest) throws(FileError) {
        if state.withLock({ state in state.shown.contains { $0.digest == digest } }) { return }
        let (file, path) = try makeTemporary()
        do throws(FileError) {
            try file.write(bytes, at: 0)
            let hold = try place(file, at: path, as: digest)
            // The last value of an earlier one ends outside of the lock, which its end takes.
            let former = state.withLock { state in
                state.shown.append(hold)
                return state.shown.count > Self.shownLimit ? state.shown.removeFirst() : nil
            }
            withExtendedLifetime(former) {}
        } catch {
            removeTemporary(path)
            throw error
        }
    }

    /// Where the bytes of a digest lie, from the root.
    func absolutePath(of digest: Digest) -> String? {
        guard let path = unsafe realpath(path(of: digest), nil) else { return nil }
        defer { unsafe free(path) }
        return unsafe String(cString: path)
    }

    /// Digests of all files that lie here.
    func digests() -> [Digest] {
        Folder.names(path).filter { $0.utf8.count == 2 }.flatMap { Self.digests(in: path + "/" + $0) }
    }

    /// Digests of those whose first byte is the part.
    func digests(part: Int) -> [Digest] { Self.digests(in: path + "/" + Hex.encode([UInt8(part)])) }

    private func folder(of digest: Digest) -> String { path + "/" + digest.hex.prefix(2) }

    /// Bodies that were set aside and not stored anew since.
    var damaged: Int { state.withLock { $0.setAside.count } }

    private func setAside(_ digest: Digest) {
        _ = try? Folder.make(quarantine)
        state.withLock { state in
            _ = unsafe rename(path(of: digest), quarantine + "/" + digest.hex)
            state.setAside.insert(digest)
        }
    }

    private static func digests(in folder: String) -> [Digest] {
        Folder.names(folder).compactMap { Hex.decode($0).map { Digest(bytes: $0) } }
    }
}

/// Keeps a body file while it lives, whether or not a row refers to it.
final class BodyHold: Sendable {
    let digest: Digest
    private weak let folder: BodyFolder?

    /// The caller has counted it.
    fileprivate init(_ digest: Digest, in folder: BodyFolder) {
        self.digest = digest
        self.folder = folder
    }

    deinit { folder?.end(holdOf: digest) }
}
