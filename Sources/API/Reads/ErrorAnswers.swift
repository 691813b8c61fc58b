import CacheCore
import HTTPModel
import Synchronization

/// Error answers that the origin lets be reused for a while (RFC 9111 3, 4.2.2). They are no server copies: memory alone holds
/// them, so that an error never stands for a resource offline or as the base of an edit. One a target; safe from any task.
final class ErrorAnswers: Sendable {
    private struct Kept {
        var copy: ServerCopy
        var ticket: UInt64
    }

    private struct State {
        var answers: [EntryKey: Kept] = [:]
        /// Oldest first.
        var order: [EntryKey] = []
    }

    /// The longest body that is kept, in bytes.
    static let bodyLimit: Int64 = 16 << 10
    private static let limit = 256

    private let view: any HitView
    private let state = Mutex(State())

    init(view: any HitView) { self.view = view }

    /// To be taken before the origin is asked.
    func ticket(_ key: EntryKey) -> UInt64 { view.ticket(key) }

    /// Keeps the answer, whose content is inline.
    func keep(_ copy: ServerCopy, for key: EntryKey, ticket: UInt64) {
        state.withLock { state in
            if state.answers.updateValue(Kept(copy: copy, ticket: ticket), forKey: key) != nil {
                state.order.removeAll { $0 == key }
            }
            state.order.append(key)
            if state.order.count > Self.limit { state.answers[state.order.removeFirst()] = nil }
        }
    }

    /// The answer kept for the target; nil where something was committed since it was asked for: a write makes it invalid
    /// (RFC 9111 4.4), an answer of the origin replaces it.
    func answer(for key: EntryKey) -> ServerCopy? {
        guard let kept = state.withLock({ $0.answers[key] }), kept.ticket == view.ticket(key) else { return nil }
        return kept.copy
    }
}
