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

        /// Whether the thread has to be woken now.
        mutating func wakes() -> Bool {
            defer { isAsleep = false }
            return isAsleep
        }
    }

    private let state = Mutex(State())
    /// The multi handle, as a number because a pointer can't be shared; 0 once it is gone. Under a lock of its own: the thread that is
    /// woken wants the other at once.
    private let multi = Mutex<UInt>(0)

    /// False where the thread takes no more.
    @discardableResult
    func post(_ message: Message) -> Bool {
        let (isTaken, wakes) = state.withLock { state in
            guard !state.isClosed else { return (false, false) }
            state.messages.append(message)
            return (true, state.wakes())
        }
        if wakes { wake() }
        return isTaken
    }

    /// Takes no more messages; the thread ends what runs.
    func close() {
        let wakes = state.withLock { state in
            state.isClosed = true
            return state.wakes()
        }
        if wakes { wake() }
    }

    // MARK: the thread's side

    /// Names the handle that wakes the thread; 0 before the handle is freed.
    func attach(_ multi: UInt) {
        self.multi.withLock { $0 = multi }
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

    private func wake() {
        // Under the lock, so that the handle can't be freed meanwhile.
        multi.withLock { multi in
            guard multi != 0 else { return }
            _ = unsafe curl_multi_wakeup(UnsafeMutableRawPointer(bitPattern: multi))
        }
    }
}
