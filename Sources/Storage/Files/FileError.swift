import CacheCore
import Glibc

/// A system call that failed: one on a file, or the start of a thread.
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
