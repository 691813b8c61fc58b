import Glibc

/// The files around a store's database. Callable from any thread.
struct DatabaseFiles: Sendable {
    let folder: String
    /// The database.
    let path: String
    /// Where all but the database's own files begin.
    private let prefix: String

    /// Whether other files may lie in the folder.
    let isNamed: Bool

    /// `name`: the database's file, after which the others are called, so that several stores can lie in one folder. The one of
    /// the usual name has the folder's plain names.
    init(folder: String, name: String = Self.usualName) {
        self.folder = folder
        path = folder + "/" + name
        isNamed = name != Self.usualName
        prefix = folder + "/" + (isNamed ? name + "." : "")
    }

    static let usualName = "holdfast.sqlite"

    var lock: String { prefix + "lock" }
    /// Held while one of several processes opens the database.
    var opening: String { prefix + "opening" }
    /// Held by the process that delivers, of those that share the database.
    var delivery: String { prefix + "delivery" }
    /// Held by the process with the role app, of those that share the database.
    var app: String { prefix + "app" }
    /// Held by the process that has the number, of those that share the database.
    func seat(_ number: Int) -> String { prefix + "seat.\(number)" }
    var bodies: String { prefix + "bodies" }
    var uploads: String { prefix + "uploads" }
    var reserve: String { prefix + "reserve" }
    /// The new database while it is filled from a damaged one.
    var salvage: String { path + ".salvage" }
    /// Lies there from when damage is found until it has been salvaged.
    private var marker: String { path + ".suspect" }
    private var keyPath: String { prefix + "partition.key" }
    /// Lies there while the store is a copy that is being filled, or one that was left behind.
    private var copyMark: String { prefix + "copy" }

    /// Whether a file of the name in the folder is one that lies beside the database, and no database that was kept aside.
    func isBeside(_ name: String) -> Bool {
        let path = folder + "/" + name
        return
            ([lock, opening, delivery, app, reserve, keyPath, copyMark].contains(path)
            || path.hasPrefix(prefix + "seat."))
    }

    /// Which file the database is: a number that no other file beside it has. nil: there is none.
    var identity: UInt64? {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { return nil }
        return UInt64(status.st_ino)
    }

    /// Writes the bytes of the log once more, durably. After a failed fsync the kernel counts what it could not put on disk as written:
    /// a later fsync would confirm it, and all that the log got afterwards, though it is not there. For the writer alone, in a
    /// transaction.
    func rewriteLog() throws(FileError) {
        guard Self.exists(path + "-wal") else { return }
        let log = try FileHandle(path: path + "-wal", flags: O_RDWR)
        try log.copy(to: log)
        try log.synchronize()
    }

    // MARK: Copies

    /// Whether all that is here lies in another place too, so that nobody needs it: a store that was being moved when the process ended.
    var isMarkedAsCopy: Bool { Self.exists(copyMark) }

    func markAsCopy() throws(FileError) {
        try FileHandle(path: copyMark, flags: O_WRONLY | O_CREAT).synchronize()
        try Folder.synchronize(folder)
    }

    func unmarkAsCopy() throws(FileError) {
        guard isMarkedAsCopy else { return }
        guard unsafe unlink(copyMark) == 0 else { throw FileError("unlink") }
        try Folder.synchronize(folder)
    }

    // MARK: Damage

    /// Whether damage was found in the database that is there.
    var isMarked: Bool { Self.exists(marker) && Self.exists(path) }

    /// Notes that the database is damaged; false where that was noted before, or can't be.
    func mark() -> Bool {
        guard let file = try? FileHandle(path: marker, flags: O_WRONLY | O_CREAT | O_EXCL) else { return false }
        try? file.synchronize()
        try? Folder.synchronize(folder)
        return true
    }

    func removeSalvage() {
        for suffix in ["", "-wal", "-shm", "-journal"] { _ = unsafe unlink(salvage + suffix) }
    }

    /// Finishes a salvage that ended between its two renames: then there is no database, but a whole new one.
    func settle() throws(FileError) {
        guard !Self.exists(path), Self.exists(salvage) else { return }
        try finishSalvage()
    }

    /// Keeps the damaged database aside under the next free number and puts the new one in its place. No earlier one is
    /// overwritten.
    func putSalvageInPlace() throws(FileError) {
        // The database before its log: as long as it is there, a start begins anew and needs both.
        guard unsafe rename(path, aside(freeNumber)) == 0 else { throw FileError("rename") }
        try Folder.synchronize(folder)
        try finishSalvage()
    }

    private func finishSalvage() throws(FileError) {
        // The log of the old database would be taken for the new one's.
        for suffix in ["-wal", "-shm"] where Self.exists(path + suffix) {
            guard unsafe rename(path + suffix, aside(freeNumber - 1) + suffix) == 0 else { throw FileError("rename") }
        }
        try Folder.synchronize(folder)
        guard unsafe rename(salvage, path) == 0 else { throw FileError("rename") }
        try Folder.synchronize(folder)
        _ = unsafe unlink(marker)
    }

    private var freeNumber: Int {
        var number = 1
        while Self.exists(aside(number)) { number += 1 }
        return number
    }

    private func aside(_ number: Int) -> String { "\(path).damaged.\(number)" }

    // MARK: The partition key

    /// The key as kept beside the database; nil where it is not there or not whole.
    var partitionKey: [UInt8]? {
        guard let file = try? FileHandle(path: keyPath, flags: O_RDONLY),
            let bytes = try? file.read(at: 0, count: 33), bytes.count == 32
        else { return nil }
        return bytes
    }

    /// Keeps the key beside the database too: with the page that holds it all identities' entries would be lost.
    func keep(partitionKey key: [UInt8]) throws(FileError) {
        guard partitionKey != key else { return }
        let temporary = keyPath + ".new"
        _ = unsafe unlink(temporary)
        let file = try FileHandle(path: temporary, flags: O_WRONLY | O_CREAT | O_EXCL, mode: 0o400)
        try file.write(key, at: 0)
        try file.synchronize()
        guard unsafe rename(temporary, keyPath) == 0 else { throw FileError("rename") }
        try Folder.synchronize(folder)
    }

    static func exists(_ path: String) -> Bool { unsafe access(path, F_OK) == 0 }
}
