import Glibc
import Synchronization

/// Room on the disk that is kept for the time when there is none: for a start, for what frees room, and for recording what became of
/// accepted writes. A file that is removed when it is needed and made again when there is room. Callable from any thread.
final class DiskReserve: Sendable {
    /// Pages that a removal of many rows touches, twice over.
    private static let size: off_t = 4 << 20

    private let folder: String
    private let path: String
    private let isThere: Atomic<Bool>

    init(folder: String, path: String) {
        self.folder = folder
        self.path = path
        isThere = Atomic(unsafe access(path, F_OK) == 0)
    }

    /// Gives the room back; false where that was done before.
    func release() -> Bool {
        guard isThere.exchange(false, ordering: .relaxed) else { return false }
        return unsafe unlink(path) == 0
    }

    /// Takes the room, where it is not taken and the disk has plenty of it.
    func refill() {
        guard !isThere.load(ordering: .relaxed) else { return }
        var disk = statvfs()
        guard unsafe statvfs(folder, &disk) == 0,
            UInt64(disk.f_bavail) * UInt64(disk.f_frsize) > UInt64(Self.size) * 2
        else { return }
        guard let file = try? FileHandle(path: path, flags: O_WRONLY | O_CREAT) else { return }
        if posix_fallocate(file.descriptor, 0, Self.size) == 0 {
            isThere.store(true, ordering: .relaxed)
        } else {
            _ = unsafe unlink(path)
        }
    }
}
