import CacheCore
import Synchronization

/// A request body on its way from its source to the transfer thread, which pauses while there is nothing to send. Bounded:
/// the source is asked for more only while little waits.
final class UploadChannel: Sendable {
    /// The source is not asked for more while this many bytes wait.
    private static let highWater = 256 << 10

    /// What the thread gets.
    enum Taken {
        case bytes(Int)
        case end
        /// Nothing yet: `wake` is called when there is.
        case starved
        /// The source failed, or gave less or more than it declared.
        case failed
    }

    private struct State {
        var pieces: [[UInt8]] = []
        var first = 0
        var offset = 0
        var queued = 0
        var offered: Int64 = 0
        var isEnded = false
        var isFailed = false
        var isStarved = false
        var isClosed = false
        var pump: CheckedContinuation<Bool, Never>?
    }

    /// The declared length; nil: chunked.
    let length: Int64?
    private let source: (any BodySource)?
    private let state: Mutex<State>

    init(length: Int64?, source: any BodySource) {
        self.length = length
        self.source = source
        state = Mutex(State())
    }

    /// A body that is in memory as a whole.
    init(bytes: [UInt8]) {
        length = Int64(bytes.count)
        source = nil
        state = Mutex(State(pieces: [bytes], queued: bytes.count, offered: Int64(bytes.count), isEnded: true))
    }

    /// Whether `pump` has anything to do.
    var needsPump: Bool { source != nil }

    /// Pulls the source to its end, as the thread takes the pieces. `wake` tells the thread that there is more.
    func pump(wake: @Sendable () -> Void) async {
        guard let source else { return }
        while await hasRoom() {
            do {
                guard let piece = try await source.next() else {
                    if end() { wake() }
                    return
                }
                if offer(piece) { wake() }
            } catch {
                if fail() { wake() }
                return
            }
        }
    }

    /// Fills the buffer with what waits.
    func take(into buffer: UnsafeMutableRawBufferPointer) -> Taken {
        let (taken, pump) = state.withLock { state -> (Taken, CheckedContinuation<Bool, Never>?) in
            if state.isFailed { return (.failed, nil) }
            var count = 0
            while count < buffer.count, state.first < state.pieces.count {
                let part = min(buffer.count - count, state.pieces[state.first].count - state.offset)
                unsafe state.pieces[state.first].withUnsafeBytes { piece in
                    let rest = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[count...])
                    unsafe rest.copyMemory(
                        from: UnsafeRawBufferPointer(rebasing: piece[state.offset..<(state.offset + part)]))
                }
                count += part
                state.offset += part
                if state.offset == state.pieces[state.first].count {
                    state.pieces[state.first] = []
                    state.first += 1
                    state.offset = 0
                }
            }
            if state.first == state.pieces.count {
                state.pieces.removeAll(keepingCapacity: true)
                state.first = 0
            }
            state.queued -= count
            let pump = state.queued < Self.highWater ? state.pump.take() : nil
            if count > 0 { return (.bytes(count), pump) }
            if state.isEnded { return (.end, pump) }
            state.isStarved = true
            return (.starved, pump)
        }
        pump?.resume(returning: true)
        return taken
    }

    /// The transfer is over: the pump ends, and a source that was not read to its end is told.
    func close() {
        let (pump, isWhole) = state.withLock { state in
            state.isClosed = true
            state.pieces = []
            state.first = 0
            return (state.pump.take(), state.isEnded)
        }
        pump?.resume(returning: false)
        if !isWhole { source?.cancel() }
    }

    // MARK: the pump's side; each tells whether the thread must be woken

    private func hasRoom() async -> Bool {
        await withCheckedContinuation { continuation in
            let answer: Bool? = state.withLock { state in
                if state.isClosed || state.isFailed { return false }
                if state.queued < Self.highWater { return true }
                state.pump = continuation
                return nil
            }
            if let answer { continuation.resume(returning: answer) }
        }
    }

    private func offer(_ piece: [UInt8]) -> Bool {
        state.withLock { state in
            guard !state.isClosed, !piece.isEmpty else { return false }
            state.offered += Int64(piece.count)
            if let length, state.offered > length {
                state.isFailed = true
            } else {
                state.pieces.append(piece)
                state.queued += piece.count
            }
            return state.isStarved.exchange(with: false)
        }
    }

    private func end() -> Bool {
        state.withLock { state in
            if let length, state.offered < length { state.isFailed = true } else { state.isEnded = true }
            return state.isStarved.exchange(with: false)
        }
    }

    private func fail() -> Bool {
        state.withLock { state in
            state.isFailed = true
            return state.isStarved.exchange(with: false)
        }
    }
}

extension Bool {
    fileprivate mutating func exchange(with new: Bool) -> Bool {
        defer { self = new }
        return self
    }
}
