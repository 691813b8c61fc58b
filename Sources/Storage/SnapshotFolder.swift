import CacheCore
import Glibc
import Synchronization

/// Snapshots in files, where the operator lets them lie.
package final class SnapshotFolder: SnapshotFiles {
    /// What the names of snapshots end with, so that no other file is read or replaced.
    private static let ending = ".ndjson"

    private let files: FileThreads
    private let locate: @Sendable (String) throws -> String

    /// `locate`: the path of a name without symbolic links; throws a `Problem` where it may not be used. The store's threads work on the files.
    package init(beside store: SQLiteStore, locate: @escaping @Sendable (String) throws -> String) {
        files = store.files
        self.locate = locate
    }

    package func check(_ name: String) throws { _ = try path(of: name) }

    private func path(of name: String) throws -> String {
        let path = try locate(name)
        guard path.hasSuffix(Self.ending) else {
            throw Problem(.locationNotAllowed, "Choose a file whose name ends with \(Self.ending).")
        }
        return path
    }

    package func write(
        _ name: String, _ body: (@escaping @Sendable ([UInt8]) async throws -> Void) async throws -> Void
    ) async throws {
        let path = try path(of: name)
        let temporary = path + ".new"
        let file = try await onFile { () throws(FileError) in
            try FileHandle(path: temporary, flags: O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NONBLOCK)
        }
        let written = Mutex<Int64>(0)
        do {
            try await body { [self] piece in
                try await onFile { () throws(FileError) in
                    let offset = written.withLock { written in
                        defer { written += Int64(piece.count) }
                        return written
                    }
                    try file.write(piece, at: offset)
                }
            }
            try await onFile { () throws(FileError) in
                try file.synchronize()
                guard unsafe rename(temporary, path) == 0 else { throw FileError("rename") }
                let end = path.utf8.lastIndex(of: UInt8(ascii: "/")) ?? path.startIndex
                try Folder.synchronize(String(path[...end]))
            }
        } catch {
            _ = unsafe unlink(temporary)
            throw error
        }
    }

    package func read(_ name: String) async throws -> @Sendable () async throws -> [UInt8]? {
        let path = try path(of: name)
        let file = try await onFile { () throws(FileError) in
            try FileHandle(path: path, flags: O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
        }
        let offset = Mutex<Int64>(0)
        return { [self] in
            let piece = try await onFile { () throws(FileError) in
                let piece = try file.read(at: offset.withLock { $0 }, count: 1 << 18)
                offset.withLock { $0 += Int64(piece.count) }
                return piece
            }
            return piece.isEmpty ? nil : piece
        }
    }

    private func onFile<Value: Sendable>(
        _ body: @escaping @Sendable () throws(FileError) -> Value
    ) async throws -> Value {
        let outcome: Result<Value, FileError> = try await files.run { () throws(StoreError) in
            do throws(FileError) { return .success(try body()) } catch { return .failure(error) }
        }
        do throws(FileError) { return try outcome.get() } catch {
            guard error.code == ENOENT || error.code == ENOTDIR else { throw error.storeError }
            throw Problem(.notFound, "There is no such file, or no such folder.")
        }
    }
}
