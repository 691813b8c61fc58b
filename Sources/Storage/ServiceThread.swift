import Glibc
import Synchronization

/// A thread that runs one function and can be waited for.
final class ServiceThread: Sendable {
    /// Unchecked: the starting thread hands it over to the new one and never touches it again.
    private final class Start: @unchecked Sendable {
        private var body: (() -> Void)?
        private let thread: ServiceThread

        init(body: @escaping @Sendable () -> Void, thread: ServiceThread) {
            self.body = body
            self.thread = thread
        }

        /// What the function captured is let go of before anyone hears of its end: who waits for a thread that held a file
        /// relies on its being closed.
        func run() {
            body?()
            body = nil
            thread.end()
        }
    }

    private let state = Mutex<(isOver: Bool, waiters: [CheckedContinuation<Void, Never>])>((false, []))

    /// Starts at once. Throws where the system has no thread for it; the function is not called then.
    init(body: @escaping @Sendable () -> Void) throws(FileError) {
        let start = unsafe Unmanaged.passRetained(Start(body: body, thread: self))
        var thread = pthread_t()
        let code = unsafe pthread_create(
            &thread, nil,
            { argument in
                guard let argument = unsafe argument else { return nil }
                unsafe Unmanaged<Start>.fromOpaque(argument).takeRetainedValue().run()
                return nil
            }, start.toOpaque())
        guard code == 0 else {
            unsafe start.release()
            errno = code
            throw FileError("no thread could be started, raise the limit of processes or try again")
        }
        pthread_detach(thread)
    }

    private func end() {
        let waiters = state.withLock { state in
            state.isOver = true
            return state.waiters
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Returns when the function has, and what it captured is gone.
    func join() async {
        await withCheckedContinuation { continuation in
            let isOver = state.withLock { state in
                if !state.isOver { state.waiters.append(continuation) }
                return state.isOver
            }
            if isOver { continuation.resume() }
        }
    }
}
