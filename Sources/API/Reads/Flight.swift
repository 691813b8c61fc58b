import CacheCore
import HTTPModel
import Synchronization

/// What came of asking the origin, as soon as the head is known.
enum FlightAnswer: Sendable {
    /// An answer with a body of its own, in the flight's spool.
    case answered(FlightHead)
    /// 304: the copy is confirmed, its fields renewed; `own` are those that only the one who asked may see.
    case renewed(ServerCopy, own: HTTPFields)
    /// 304: the parts are confirmed.
    case renewedParts(PartialCopy)
    case failed(OriginError)
}

/// The head of an answer, and what is done with its body.
struct FlightHead: Sendable {
    var status: Int
    /// As received, end-to-end ones only.
    var fields: HTTPFields
    /// Content-Length, where there is one.
    var length: Int64?
    /// Which bytes the body holds, where that is known.
    var extent: Extent?
    /// What is kept of the same bytes already.
    var parts: PartialCopy?
    /// Whether a part was asked for that no client named so.
    var isFill: Bool
    /// What will be stored (its content is filled in at the end), for a part the head of the whole; nil where nothing is.
    var copy: ServerCopy?
    /// Why nothing is, for `detail` of Cache-Status.
    var detail: String?
    /// The body where all of it is here already; in the spool too.
    var whole: [UInt8]?
    var spool: Spool
}

/// One request to the origin for a target, which several clients may wait for. Goes on when they leave. Safe from any task.
final class Flight: Sendable {
    private struct State {
        var answer: FlightAnswer?
        var waiters: [Int: CheckedContinuation<FlightAnswer?, Never>] = [:]
        var lastWaiter = 0
        /// The place of the one who asked, kept from before the first byte so that nothing is missed.
        var reader: SpoolReader?
        var isAbandoned = false
        var isInvalidated = false
        var isDone = false
        var retire: (@Sendable (Flight) -> Void)?
        var doneWaiters: [CheckedContinuation<Void, Never>] = []
    }

    private let state: Mutex<State>

    /// Of the log of expiries, taken before the origin is asked.
    let ticket: UInt64

    /// `retire` takes the flight out of the table, so that nobody joins it any more; called once.
    init(since ticket: UInt64, retire: (@Sendable (Flight) -> Void)? = nil) {
        self.ticket = ticket
        state = Mutex(State(retire: retire))
    }

    /// Makes the answer known, with the first asker's reader. Those who ask later join only where `isShareable`: others would
    /// wait for what they can't use.
    func land(_ answer: FlightAnswer, reader: SpoolReader? = nil, isShareable: Bool = false) {
        if !isShareable { retire() }
        let (waiters, dropped) = state.withLock { state in
            state.answer = answer
            state.reader = state.isAbandoned ? nil : reader
            defer { state.waiters = [:] }
            return (Array(state.waiters.values), state.isAbandoned ? reader : nil)
        }
        dropped?.cancel()
        for waiter in waiters { waiter.resume(returning: answer) }
    }

    /// The answer's head; nil where it is not there by `deadline` (seconds since 1970).
    func answer(by deadline: Double?, clock: any Clock) async -> FlightAnswer? {
        let id = state.withLock { state in
            state.lastWaiter += 1
            return state.lastWaiter
        }
        let alarm = deadline.map { deadline in
            Task { [self] in
                await clock.sleep(until: deadline)
                if !Task.isCancelled { giveUp(id) }
            }
        }
        defer { alarm?.cancel() }
        return await withCheckedContinuation { continuation in
            let (known, isLate): (FlightAnswer?, Bool) = state.withLock { state in
                if let answer = state.answer { return (answer, false) }
                if let deadline, clock.now >= deadline { return (nil, true) }
                state.waiters[id] = continuation
                return (nil, false)
            }
            if known != nil || isLate { continuation.resume(returning: known) }
        }
    }

    private func giveUp(_ id: Int) {
        state.withLock { $0.waiters.removeValue(forKey: id) }?.resume(returning: nil)
    }

    /// The first byte of the representation that has not arrived, where the request was for what begins at `start`.
    func position(from start: Int64) -> Int64 {
        guard case .answered(let head) = state.withLock({ $0.answer }) else { return start }
        return (head.extent?.range.lowerBound ?? start) + head.spool.received
    }

    /// The first asker's reader; once.
    func takeReader() -> SpoolReader? { state.withLock { $0.reader.take() } }

    /// The first asker doesn't wait any longer: its reader is dropped, now or when it comes.
    func abandon() {
        let reader = state.withLock { state in
            state.isAbandoned = true
            return state.reader.take()
        }
        reader?.cancel()
    }

    /// A write has gone to the target meanwhile: the answer may be from before it.
    func invalidate() { state.withLock { $0.isInvalidated = true } }
    var isInvalidated: Bool { state.withLock { $0.isInvalidated } }

    private func retire() { state.withLock { $0.retire.take() }?(self) }

    /// Body and store are done with.
    func finish() {
        retire()
        let waiters = state.withLock { state in
            state.isDone = true
            defer { state.doneWaiters = [] }
            return state.doneWaiters
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Returns when the flight is done with, its copy committed.
    func done() async {
        await withCheckedContinuation { continuation in
            let isDone = state.withLock { state in
                if !state.isDone { state.doneWaiters.append(continuation) }
                return state.isDone
            }
            if isDone { continuation.resume() }
        }
    }
}
