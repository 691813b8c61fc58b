import CacheCore
import Glibc

/// A system call on a file that failed.
struct FileError: Error {
    let call: StaticString
    let code: Int32

    /// From the thread's `errno`, right after the call.
    init(_ call: StaticString) {
        self.call = call
        code = errno
    }

    /// The same for who uses the store; names no path.
    var storeError: StoreError {
        code == ENOSPC || code == EDQUOT
            ? .full : .failed(reason: "\(call): \(unsafe String(cString: strerror(code)))")
    }
}

/// An open file; closed with its owner.
final class FileHandle: Sendable {
    let descriptor: Int32

    init(path: String, flags: Int32, mode: mode_t = 0o600) throws(FileError) {
        descriptor = unsafe Glibc.open(path, flags | O_CLOEXEC, mode)
        guard descriptor >= 0 else { throw FileError("open") }
    }

    deinit { Glibc.close(descriptor) }

    /// Writes all of the bytes, from `offset` on.
    func write(_ bytes: [UInt8], at offset: Int64) throws(FileError) {
        var written = 0
        while written < bytes.count {
            let count = unsafe bytes.withUnsafeBytes { bytes in
                unsafe pwrite(
                    descriptor, bytes.baseAddress?.advanced(by: written), bytes.count - written,
                    off_t(offset) + off_t(written))
            }
            if count < 0 {
                if errno == EINTR { continue }
                throw FileError("write")
            }
            written += count
        }
    }

    /// Whether it has more than one name.
    var isShared: Bool {
        get throws(FileError) {
            var status = stat()
            guard unsafe fstat(descriptor, &status) == 0 else { throw FileError("stat") }
            return status.st_nlink > 1
        }
    }

    /// Makes the file that long.
    func truncate(to length: Int64) throws(FileError) {
        guard ftruncate(descriptor, off_t(length)) == 0 else { throw FileError("truncate") }
    }

    /// Up to `count` bytes from `offset`; fewer only at the end of the file.
    func read(at offset: Int64, count: Int) throws(FileError) -> [UInt8] {
        var code: Int32 = 0
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            while filled < count {
                let taken = unsafe pread(
                    descriptor, buffer.baseAddress?.advanced(by: filled), count - filled, off_t(offset) + off_t(filled))
                if taken == 0 { return }
                if taken < 0 {
                    if errno == EINTR { continue }
                    code = errno
                    return
                }
                filled += taken
            }
        }
        guard code == 0 else {
            errno = code
            throw FileError("read")
        }
        return bytes
    }

    /// Has a part of the file read into the system's memory; false where it ends before.
    func load(_ part: Range<Int64>) -> Bool {
        posix_fadvise(descriptor, off_t(part.lowerBound), off_t(part.count), POSIX_FADV_WILLNEED)
        // Files are read in order: with the last byte those before it are there.
        var last: UInt8 = 0
        return unsafe pread(descriptor, &last, 1, off_t(part.upperBound) - 1) == 1
    }

    func synchronize() throws(FileError) {
        guard fsync(descriptor) == 0 else { throw FileError("fsync") }
    }
}

/// Folders by path.
enum Folder {
    /// Makes it where it is missing, for the user alone; whether it was.
    @discardableResult
    static func make(_ path: String) throws(FileError) -> Bool {
        if unsafe mkdir(path, 0o700) == 0 { return true }
        guard errno == EEXIST else { throw FileError("mkdir") }
        return false
    }

    /// Makes it with all folders above it, durably.
    static func makeAll(_ path: String) throws(FileError) {
        var above = path.hasPrefix("/") ? "/" : "."
        var made = path.hasPrefix("/") ? "/" : ""
        for part in path.split(separator: "/") {
            made += part
            if try make(made) {
                // A folder that may be written but not read can't be synchronised.
                do throws(FileError) { try synchronize(above) } catch { if error.code != EACCES { throw error } }
            }
            above = made
            made += "/"
        }
    }

    static func synchronize(_ path: String) throws(FileError) {
        try FileHandle(path: path, flags: O_RDONLY | O_DIRECTORY).synchronize()
    }

    /// Deletes it with all that is in it, as far as that can be done.
    static func remove(_ path: String) {
        for name in names(path) where unsafe unlink(path + "/" + name) != 0 { remove(path + "/" + name) }
        _ = unsafe rmdir(path)
    }

    /// Names in it, without `.` and `..`; empty where it can't be read.
    static func names(_ path: String) -> [String] {
        guard let folder = unsafe opendir(path) else { return [] }
        defer { unsafe closedir(folder) }
        var names: [String] = []
        while let item = unsafe readdir(folder) {
            let name = unsafe withUnsafePointer(to: &item.pointee.d_name) { name in
                unsafe name.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }
}
