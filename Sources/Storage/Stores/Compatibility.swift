import Glibc

/// Whether a file that is to be a store's database can be one (seeds/semantics.md 4.1, `overwriteIncompatibleStore`).
enum Compatibility {
    private static let header = Array("SQLite format 3\0".utf8)

    /// Throws `foreign` or `newerVersion` for a file that is none of ours, or deletes it where it may be overwritten. One of ours
    /// that is damaged is left to the salvage, and so is what bears the usual name.
    static func check(_ files: DatabaseFiles, overwrites: Bool) throws {
        guard files.isNamed, let problem = try problem(of: files) else { return }
        guard overwrites else { throw problem }
        for suffix in ["", "-wal", "-shm"] { _ = unsafe unlink(files.path + suffix) }
        try Folder.synchronize(files.folder)
    }

    private static func problem(of files: DatabaseFiles) throws -> StoreOpenError? {
        guard let file = try? FileHandle(path: files.path, flags: O_RDONLY) else { return nil }
        let start = try file.read(at: 0, count: header.count)
        if start.isEmpty { return nil }
        // Beside a database of ours lies its key; then a header that can't be read is damage.
        guard start == header else { return files.partitionKey == nil ? .foreign : nil }
        guard let connection = try? Connection(path: files.path, readOnly: true),
            let version = try? connection.integer("PRAGMA user_version")
        else { return nil }
        if version > Schema.version { return .newerVersion(Int(version)) }
        let tables = try? connection.integer("SELECT count(*) FROM sqlite_master WHERE name NOT LIKE 'sqlite_%'")
        return version == 0 && tables ?? 0 > 0 ? .foreign : nil
    }
}
