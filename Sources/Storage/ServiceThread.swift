import Glibc
import Synchronization

/// A thread that runs one function and can be waited for.
final class ServiceThread: Sendable {
    private final class Start: Sendable {
        let body: @Sendable () -> Void
        init(body: @escaping @Sendable () -> Void) { self.body = body }
    }
    private let state = Mutex<(isOver: Bool, waiters: [CheckedContinuation<Void, Never>])>((false, []))

    /// Starts at once.
    init(body: @escaping @Sendable () -> Void) {
        let start = Start { [self] in
            body()
            let waiters = state.withLock { state in
                state.isOver = true
                return state.waiters
            }
            for waiter in waiters { waiter.resume() }
        }
        var thread = pthread_t()
        let code = unsafe pthread_create(
            &thread, nil,
            { argument in
                guard let argument = unsafe argument else { return nil }
                let start = unsafe Unmanaged<Start>.fromOpaque(argument).takeRetainedValue()
                start.body()
                return nil
            }, Unmanaged.passRetained(start).toOpaque())
        precondition(code == 0, "no thread")
        pthread_detach(thread)
    }

    /// Returns when the function has.
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
