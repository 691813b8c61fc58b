import CacheCore
import Synchronization

/// The answer on its way from the transfer thread to the one reader. Bounded: a full channel pauses the transfer.
final class AnswerChannel: Sendable {
    /// More than this is not queued.
    static let highWater = 256 << 10
    /// A paused transfer goes on when no more than this is queued.
    static let lowWater = 64 << 10
    /// Small pieces are joined up to this size.
    private static let joinedPiece = 64 << 10

    private struct State {
        var head: Result<AnswerHead, OriginError>?
        var headWaiter: CheckedContinuation<Result<AnswerHead, OriginError>, Never>?
        var pieces: [[UInt8]] = []
        /// The index of the next piece: taking from the front moves nothing.
        var first = 0
        var queued = 0
        var isPaused = false
        /// nil while the body goes on; `success` at its proven end.
        var end: Result<Void, OriginError>?
        var reader: CheckedContinuation<Result<[UInt8]?, OriginError>, Never>?

        /// What a reader gets now; nil: it must wait.
        mutating func take() -> Result<[UInt8]?, OriginError>? {
            if first < pieces.count {
                let piece = pieces[first]
                pieces[first] = []
                first += 1
                if first == pieces.count {
                    pieces.removeAll(keepingCapacity: true)
                    first = 0
                }
                queued -= piece.count
                return .success(piece)
            }
            return end.map { $0.map { nil } }
        }
    }

    private let state = Mutex(State())

    // MARK: the reader's side

    /// The final head, once it is there.
    func head() async -> Result<AnswerHead, OriginError> {
        await withCheckedContinuation { continuation in
            let head = state.withLock { state in
                if state.head == nil { state.headWaiter = continuation }
                return state.head
            }
            if let head { continuation.resume(returning: head) }
        }
    }

    /// The next piece of the body, nil at its end. `resume` is called where a paused transfer can go on.
    func next(resume: () -> Void) async throws(OriginError) -> [UInt8]? {
        let result = await withCheckedContinuation { continuation in
            let result = state.withLock { state in
                let result = state.take()
                if result == nil { state.reader = continuation }
                return result
            }
            if let result { continuation.resume(returning: result) }
        }
        let goesOn = state.withLock { state in
            guard state.isPaused, state.queued <= Self.lowWater else { return false }
            state.isPaused = false
            return true
        }
        if goesOn { resume() }
        return try result.get()
    }

    /// Whether the transfer has ended, well or not.
    var isOver: Bool { state.withLock { $0.end != nil } }

    /// The body, where it has arrived as a whole and in one piece.
    var whole: [UInt8]? {
        state.withLock { state in
            guard case .success = state.end, state.pieces.count - state.first <= 1 else { return nil }
            return state.first < state.pieces.count ? state.pieces[state.first] : []
        }
    }

    // MARK: the thread's side

    func deliver(_ head: AnswerHead) {
        let waiter = state.withLock { state in
            state.head = .success(head)
            return state.headWaiter.take()
        }
        waiter?.resume(returning: .success(head))
    }

    /// Queues bytes; false (and nothing taken) where the channel is full: the transfer is to pause.
    func offer(_ bytes: UnsafeRawBufferPointer) -> Bool {
        state.withLock { state in
            if state.queued >= Self.highWater {
                state.isPaused = true
                return false
            }
            let last = state.pieces.count - 1
            if last >= state.first && state.pieces[last].count + bytes.count <= Self.joinedPiece {
                unsafe state.pieces[last].append(contentsOf: bytes)
            } else {
                unsafe state.pieces.append(Array(bytes))
            }
            state.queued += bytes.count
            return true
        }
    }

    /// Wakes a reader that waits, if there is something for it.
    func flush() {
        let woken = state.withLock {
            state -> (CheckedContinuation<Result<[UInt8]?, OriginError>, Never>, Result<[UInt8]?, OriginError>)? in
            guard let reader = state.reader, let result = state.take() else { return nil }
            state.reader = nil
            return (reader, result)
        }
        if let (reader, result) = woken { reader.resume(returning: result) }
    }

    /// Ends the transfer. Where no head was delivered, `head` is the answer to the request, or else the error.
    func finish(_ result: Result<Void, OriginError>, head: AnswerHead? = nil) {
        let (waiter, head) = state.withLock { state in
            if state.end == nil { state.end = result }
            if state.head == nil, let head { state.head = .success(head) }
            if state.head == nil, case .failure(let error) = result { state.head = .failure(error) }
            return (state.headWaiter.take(), state.head)
        }
        if let waiter, let head { waiter.resume(returning: head) }
        flush()
    }
}
