import Glibc
import Synchronization

/// Whether the system lets the process have the threads that it can't do without.
enum ThreadRoom {
    /// Those of the store, of the origin's client, of one event loop, and the Swift runtime's timer. Its workers, one a core, come on
    /// top.
    private static let own = 10

    /// Why they can't be had; nil where they can. To be asked before the first task: a runtime that lacks a worker waits for it
    /// without a word, and everything with it.
    static var lack: String? {
        var threads: [pthread_t] = []
        var code: Int32 = 0
        gate.withLock { _ in
            while code == 0, threads.count < own + max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN))) {
                var thread = pthread_t()
                code = pthread_create(&thread, nil, passGate, nil)
                if code == 0 { threads.append(thread) }
            }
        }
        for thread in threads { pthread_join(thread, nil) }
        return code == 0 ? nil : String(cString: strerror(code))
    }
}

/// Closed until all threads are there.
private let gate = Mutex(())

private func passGate(_: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    gate.withLock { _ in }
    return nil
}
