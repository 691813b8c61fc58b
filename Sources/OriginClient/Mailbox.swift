import CCurl
import Synchronization

/// What other threads tell the transfer thread. Taken as a whole; the thread is woken only where it sleeps, so that many
/// messages cost one wake-up.
final class Mailbox: Sendable {
    enum Message: Sendable {
        case start(Job)
        /// The reader of an answer has made room.
        case received(Int)
        /// The source of a request body has given more.
        case uploaded(Int)
        case cancel(Int)
    }

    private struct State {
        var messages: [Message] = []
        var isAsleep = false
        var isClosed = false
        /// The multi handle, as a number because a pointer can't be shared; 0 once it is gone.
        var multi: UInt = 0
    }

    private let state = Mutex(State())

    /// False where the thread takes no more.
    @discardableResult
    func post(_ message: Message) -> Bool {
        state.withLock { state in
            guard !state.isClosed else { return false }
            state.messages.append(message)
            Self.wake(&state)
            return true
        }
    }

    /// Takes no more messages; the thread ends what runs.
    func close() {
        state.withLock { state in
            state.isClosed = true
            Self.wake(&state)
        }
    }

    // MARK: the thread's side

    /// Names the handle that wakes the thread; 0 before the handle is freed.
    func attach(_ multi: UInt) {
        state.withLock { $0.multi = multi }
    }

    /// Everything that waits, and whether the mailbox is closed.
    func take() -> (messages: [Message], isClosed: Bool) {
        state.withLock { state in
            state.isAsleep = false
            let messages = state.messages
            state.messages.removeAll(keepingCapacity: false)
            return (messages, state.isClosed)
        }
    }

    /// Whether the thread may sleep: nothing waits. From now on a message wakes it.
    func fallAsleep() -> Bool {
        state.withLock { state in
            state.isAsleep = state.messages.isEmpty && !state.isClosed
            return state.isAsleep
        }
    }

    private static func wake(_ state: inout State) {
        guard state.isAsleep else { return }
        state.isAsleep = false
        // Under the lock, so that the handle can't be freed meanwhile.
        _ = unsafe curl_multi_wakeup(UnsafeMutableRawPointer(bitPattern: state.multi))
    }
}
