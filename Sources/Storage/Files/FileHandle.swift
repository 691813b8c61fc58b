import Glibc

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
    var isShared: Bool { get throws(FileError) { try status().st_nlink > 1 } }

    /// Its bytes.
    var length: Int64 { get throws(FileError) { Int64(try status().st_size) } }

    private func status() throws(FileError) -> stat {
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { throw FileError("stat") }
        return status
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

    /// Writes the whole file to `other`, each byte to the same place.
    func copy(to other: FileHandle) throws(FileError) {
        var offset: Int64 = 0
        while true {
            let piece = try read(at: offset, count: 1 << 18)
            if piece.isEmpty { return }
            try other.write(piece, at: offset)
            offset += Int64(piece.count)
        }
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
