import CCurl
import Glibc
import Synchronization

/// What kept the origin's client from starting; `description` is for the operator.
package struct OriginStartError: Error, Sendable, CustomStringConvertible {
    package let description: String
    init(_ description: String) { self.description = description }
}

/// Owns the thread on which all transfers run, and stops it when released. Callable from any thread.
final class TransferThread: Sendable {
    let mailbox = Mailbox()
    private let thread: Mutex<pthread_t?>

    /// libcurl's own set-up, once in a process and before any other call.
    private static let isLibraryReady = curl_global_init(Int(CURL_GLOBAL_ALL)) == CURLE_OK

    init(_ options: OriginOptions) throws(OriginStartError) {
        guard Self.isLibraryReady else { throw OriginStartError("libcurl can't be set up") }
        guard let made = TransferLoop(options, mailbox: mailbox) else {
            throw OriginStartError("libcurl has no memory or no descriptors, raise the limits of the process")
        }
        // From here on the new thread's alone.
        let loop = unsafe Unmanaged.passRetained(made)
        var thread = pthread_t()
        let code = unsafe pthread_create(&thread, nil, runTransferLoop, loop.toOpaque())
        guard code == 0 else {
            unsafe loop.release()
            throw OriginStartError(
                unsafe "no thread could be started, raise the limit of processes: \(String(cString: strerror(code)))")
        }
        self.thread = Mutex(thread)
    }

    deinit { stop() }

    /// Ends all transfers and the thread; returns when it is gone. Further calls do nothing.
    func stop() {
        mailbox.close()
        guard let thread = thread.withLock({ $0.take() }) else { return }
        pthread_join(thread, nil)
    }
}

private func runTransferLoop(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    if let context = unsafe context { unsafe Unmanaged<TransferLoop>.fromOpaque(context).takeRetainedValue().run() }
    return nil
}
