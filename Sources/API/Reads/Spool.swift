import CacheCore
import Synchronization

/// A body on its way from the origin, read by several clients at once in bounded memory.
///
/// The newest bytes are in a window. Where the store keeps the body too (`backing`), the fastest reader sets the pace: slower
/// ones that fall out of the window, and late ones, read what was stored of it, and hold nobody up. Without the store the
/// slowest reader sets it. Without readers the body runs to its end by itself. Safe from any task.
final class Spool: Sendable {
    /// How it ended.
    enum Outcome: Sendable {
        case complete
        case failed(OriginError)
    }

    /// What a reader is to do next.
    fileprivate enum Step {
        case piece([UInt8])
        /// To be read from the store.
        case written(Range<Int64>, any BodyWriter)
        case end
        case failed(OriginError)
        case wait
    }

    private struct Reader: Sendable {
        var position: Int64
        /// Where its part ends.
        var limit = Int64.max
        var waiter: CheckedContinuation<Void, Never>?
    }

    private struct State: Sendable {
        var pieces: [[UInt8]] = []
        /// Offsets of the window's first byte and of the byte after its last.
        var start: Int64 = 0
        var end: Int64 = 0
        var backing: (any BodyWriter)?
        var readers: [Int: Reader] = [:]
        var lastReader = 0
        var writer: CheckedContinuation<Void, Never>?
        var outcome: Outcome?

        /// Whether the window's first piece may go.
        func mayDrop(_ length: Int) -> Bool {
            let cut = start + Int64(length)
            guard !readers.isEmpty else { return true }
            guard backing != nil else { return readers.values.allSatisfy { $0.position >= cut } }
            return readers.values.contains { $0.position >= cut || $0.position < start }
        }

        mutating func takeWaiters() -> [CheckedContinuation<Void, Never>] {
            var waiters: [CheckedContinuation<Void, Never>] = []
            // By index: who holds the keys while a value changes makes a copy of all.
            var index = readers.startIndex
            while index != readers.endIndex {
                if let waiter = readers.values[index].waiter.take() { waiters.append(waiter) }
                readers.formIndex(after: &index)
            }
            return waiters
        }

        mutating func trim(to limit: Int64) {
            var dropped = 0
            while dropped < pieces.count, end - start > limit, mayDrop(pieces[dropped].count) {
                start += Int64(pieces[dropped].count)
                dropped += 1
            }
            pieces.removeFirst(dropped)
        }
    }

    private let state: Mutex<State>
    private static let windowLimit: Int64 = 1 << 20
    /// What is read from the store at once.
    private static let readLimit: Int64 = 1 << 18

    /// `backing`: the writer to which each piece goes before it is appended here.
    init(backing: (any BodyWriter)?) { state = Mutex(State(backing: backing)) }

    /// A reader from the first byte on; nil where the first bytes are gone for good. Whoever gets one reads to its end or cancels it.
    func makeReader() -> SpoolReader? {
        let id: Int? = state.withLock { state in
            if state.start > 0, state.backing == nil { return nil }
            state.lastReader += 1
            state.readers[state.lastReader] = Reader(position: 0)
            return state.lastReader
        }
        return id.map { SpoolReader(self, id: $0) }
    }

    /// Lets a reader have a part only, counted from the body's first byte.
    fileprivate func narrow(_ id: Int, to range: Range<Int64>) {
        let writer = state.withLock { state in
            state.readers[id]?.position = range.lowerBound
            state.readers[id]?.limit = range.upperBound
            return state.writer.take()
        }
        writer?.resume()
    }

    /// How much has arrived.
    var received: Int64 { state.withLock { $0.end } }

    var hasReaders: Bool { state.withLock { !$0.readers.isEmpty } }

    /// Adds a piece; suspends while the readers that set the pace are a window behind.
    func append(_ piece: [UInt8]) async {
        let waiters = state.withLock { state in
            state.pieces.append(piece)
            state.end += Int64(piece.count)
            state.trim(to: Self.windowLimit)
            return state.takeWaiters()
        }
        for waiter in waiters { waiter.resume() }
        while isFull {
            await withCheckedContinuation { continuation in
                let goesOn = state.withLock { state in
                    state.trim(to: Self.windowLimit)
                    guard state.end - state.start > Self.windowLimit else { return true }
                    state.writer = continuation
                    return false
                }
                if goesOn { continuation.resume() }
            }
        }
    }

    private var isFull: Bool {
        state.withLock { state in
            state.trim(to: Self.windowLimit)
            return state.end - state.start > Self.windowLimit
        }
    }

    /// The store gave up: from now on only the window can be read.
    func loseBacking() {
        let waiters = state.withLock { state in
            state.backing = nil
            return state.takeWaiters()
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Ends the body, once.
    func end(_ outcome: Outcome) {
        let waiters = state.withLock { state in
            if state.outcome == nil { state.outcome = outcome }
            return state.takeWaiters()
        }
        for waiter in waiters { waiter.resume() }
    }

    /// What a reader is to do; never `wait`.
    fileprivate func next(_ id: Int) async -> Step {
        while true {
            let (step, writer) = state.withLock { state in take(id, &state) }
            writer?.resume()
            guard case .wait = step else { return step }
            await wait(id)
        }
    }

    private func wait(_ id: Int) async {
        await withCheckedContinuation { continuation in
            let (isDone, writer) = state.withLock { state in
                // What arrived since `take` must not be slept over.
                guard case .wait = peek(id, state) else { return (true, nil as CheckedContinuation<Void, Never>?) }
                state.readers[id]?.waiter = continuation
                // A reader that waits for the end must not be waited for.
                return (false, state.writer.take())
            }
            writer?.resume()
            if isDone { continuation.resume() }
        }
    }

    private func take(_ id: Int, _ state: inout State) -> (Step, CheckedContinuation<Void, Never>?) {
        let step = peek(id, state)
        switch step {
        case .piece(let bytes): state.readers[id]?.position += Int64(bytes.count)
        case .written(let range, _): state.readers[id]?.position = range.upperBound
        case .end, .failed, .wait: return (step, nil)
        }
        return (step, state.writer.take())
    }

    private func peek(_ id: Int, _ state: State) -> Step {
        guard let reader = state.readers[id] else { return .failed(.cancelled) }
        let position = reader.position
        if position >= reader.limit { return .end }
        if position < state.start {
            guard let backing = state.backing else { return .failed(.cutBody(reason: "the client was too slow")) }
            return .written(position..<min(state.start, reader.limit, position + Self.readLimit), backing)
        }
        if position < state.end {
            var offset = state.start
            for piece in state.pieces {
                let next = offset + Int64(piece.count)
                if position < next {
                    return .piece(Array(piece[Int(position - offset)..<Int(min(next, reader.limit) - offset)]))
                }
                offset = next
            }
        }
        switch state.outcome {
        case .complete: return .end
        case .failed(let error): return .failed(error)
        case nil: return .wait
        }
    }

    fileprivate func leave(_ id: Int) {
        let resumed: [CheckedContinuation<Void, Never>] = state.withLock { state in
            let reader = state.readers.removeValue(forKey: id)
            return [reader?.waiter, state.writer.take()].compactMap { $0 }
        }
        for continuation in resumed { continuation.resume() }
    }
}

/// One client's way through a `Spool`.
final class SpoolReader: BodySource {
    private let spool: Spool
    private let id: Int
    private let isAtEnd = Atomic(false)

    fileprivate init(_ spool: Spool, id: Int) {
        self.spool = spool
        self.id = id
    }

    // A reader that is dropped must not hold the writer up.
    deinit { spool.leave(id) }

    /// From now on only this part is read, counted from the body's first byte.
    func narrow(to range: Range<Int64>) { spool.narrow(id, to: range) }

    func next() async throws -> [UInt8]? {
        if isAtEnd.load(ordering: .relaxed) { return nil }
        switch await spool.next(id) {
        case .piece(let bytes): return bytes
        case .written(let range, let writer):
            do {
                return try await writer.written(range)
            } catch {
                spool.leave(id)
                throw error
            }
        case .end, .wait:
            isAtEnd.store(true, ordering: .relaxed)
            spool.leave(id)
            return nil
        case .failed(let error):
            spool.leave(id)
            throw error
        }
    }

    func cancel() { spool.leave(id) }
}
