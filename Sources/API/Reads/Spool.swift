import CacheCore
import Synchronization

/// A body on its way from the origin, read by several clients at once in bounded memory.
///
/// The newest bytes are in a window. Where the store keeps the body too (`isBacked`), the fastest reader sets the pace: slower
/// ones that fall out of the window read on from the store once the body is complete, and hold nobody up. Without the store the
/// slowest reader sets it. Without readers the body runs to its end by itself. Safe from any task.
final class Spool: Sendable {
    /// How it ended.
    enum Outcome: Sendable {
        /// Complete; the content where the store has it.
        case complete(Content?)
        case failed(OriginError)
    }

    /// What a reader is to do next.
    private enum Step {
        case piece([UInt8])
        case end
        case stored(Content, from: Int64)
        case failed(OriginError)
        case wait
    }

    private struct Reader: Sendable {
        var position: Int64
        var waiter: CheckedContinuation<Void, Never>?
    }

    private struct State: Sendable {
        var pieces: [[UInt8]] = []
        /// Offsets of the window's first byte and of the byte after its last.
        var start: Int64 = 0
        var end: Int64 = 0
        var isBacked: Bool
        var readers: [Int: Reader] = [:]
        var lastReader = 0
        var writer: CheckedContinuation<Void, Never>?
        var outcome: Outcome?

        /// Whether the window's first piece may go.
        func mayDrop(_ length: Int) -> Bool {
            let cut = start + Int64(length)
            guard !readers.isEmpty else { return true }
            guard isBacked else { return readers.values.allSatisfy { $0.position >= cut } }
            return readers.values.contains { $0.position >= cut || $0.position < start }
        }

        mutating func takeWaiters() -> [CheckedContinuation<Void, Never>] {
            var waiters: [CheckedContinuation<Void, Never>] = []
            for id in readers.keys {
                if let waiter = readers[id]?.waiter { waiters.append(waiter) }
                readers[id]?.waiter = nil
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
    private let store: any Store
    private static let windowLimit: Int64 = 1 << 20

    init(store: any Store, isBacked: Bool) {
        self.store = store
        state = Mutex(State(isBacked: isBacked))
    }

    /// A reader from the first byte on; nil where the first bytes are gone for good. Whoever gets one reads to its end or cancels it.
    func makeReader() -> SpoolReader? {
        let id: Int? = state.withLock { state in
            if state.start > 0, !state.isBacked { return nil }
            state.lastReader += 1
            state.readers[state.lastReader] = Reader(position: 0)
            return state.lastReader
        }
        return id.map { SpoolReader(self, id: $0, store: store) }
    }

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
            state.isBacked = false
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

    /// The next piece for a reader, or what else it is to do.
    fileprivate func next(_ id: Int) async -> SpoolReader.Step {
        while true {
            let (step, writer) = state.withLock { state in take(id, &state) }
            writer?.resume()
            switch step {
            case .piece(let bytes): return .piece(bytes)
            case .end: return .end
            case .stored(let content, let from): return .stored(content, from: from)
            case .failed(let error): return .failed(error)
            case .wait: await wait(id)
            }
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
        guard case .piece(let bytes) = step else { return (step, nil) }
        state.readers[id]?.position += Int64(bytes.count)
        return (step, state.writer.take())
    }

    private func peek(_ id: Int, _ state: State) -> Step {
        guard let position = state.readers[id]?.position else { return .failed(.cancelled) }
        if position < state.start {
            switch state.outcome {
            case .complete(let content?): return .stored(content, from: position)
            case .complete(nil): return .failed(.cutBody(reason: "the client was too slow"))
            case .failed(let error): return .failed(error)
            case nil: return state.isBacked ? .wait : .failed(.cutBody(reason: "the client was too slow"))
            }
        }
        if position < state.end {
            var offset = state.start
            for piece in state.pieces {
                let next = offset + Int64(piece.count)
                if position < next { return .piece(Array(piece.dropFirst(Int(position - offset)))) }
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
    fileprivate enum Step {
        case piece([UInt8])
        case end
        case stored(Content, from: Int64)
        case failed(OriginError)
    }

    private let spool: Spool
    private let id: Int
    private let store: any Store
    /// The store's copy, once the window has moved past this reader.
    private let stored = Mutex<(any BodySource)?>(nil)

    fileprivate init(_ spool: Spool, id: Int, store: any Store) {
        self.spool = spool
        self.id = id
        self.store = store
    }

    // A reader that is dropped must not hold the writer up.
    deinit { spool.leave(id) }

    func next() async throws -> [UInt8]? {
        if let source = stored.withLock({ $0 }) { return try await source.next() }
        switch await spool.next(id) {
        case .piece(let bytes): return bytes
        case .end:
            spool.leave(id)
            return nil
        case .failed(let error):
            spool.leave(id)
            throw error
        case .stored(let content, let from):
            spool.leave(id)
            let source = try await store.read(content, range: from..<content.length)
            stored.withLock { $0 = source }
            return try await source.next()
        }
    }

    func cancel() {
        spool.leave(id)
        stored.withLock { $0 }?.cancel()
    }
}
