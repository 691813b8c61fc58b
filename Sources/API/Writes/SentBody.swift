import CacheCore
import Synchronization

/// The body of a write: in memory, in the store, or still at the client.
enum SentBody: Sendable {
    case none
    case bytes([UInt8])
    case stored(Content)
    /// Too large to be kept aside: can be sent once.
    case stream(ClientBody)

    /// Whether it can be sent again.
    var isRepeatable: Bool { if case .stream = self { false } else { true } }

    /// The bytes, where they are in memory.
    var inMemory: [UInt8]? {
        switch self {
        case .none, .stream: nil
        case .bytes(let bytes): bytes
        case .stored(let content): content.inline
        }
    }
}

/// A body on its way from the client: what was read ahead, then the rest as it arrives. One reader. Where a digest of it is stated the
/// last piece is held back until it holds, so that a wrong body never arrives whole.
final class ClientBody: BodySource {
    private struct State {
        var ahead: [[UInt8]]
        var wasPulled = false
        var failure: (any Error)?
        /// The piece that may be the last.
        var heldBack: [UInt8]?
    }

    /// nil where the client sends chunks.
    let length: Int64?
    private let state: Mutex<State>
    private let exchange: any Exchange
    private let check: DigestCheck?

    init(_ exchange: any Exchange, readAhead: [[UInt8]], check: DigestCheck?) {
        self.exchange = exchange
        self.check = check
        length = exchange.head.bodyLength
        state = Mutex(State(ahead: readAhead.reversed()))
    }

    /// Whether a part has gone to the origin: then it can't be kept any more.
    var wasPulled: Bool { state.withLock { $0.wasPulled } }
    /// Why the client's side ended early: an `ExchangeError`, or a `Problem` where the body is not the one that its digest says.
    var failure: (any Error)? { state.withLock { $0.failure } }

    func next() async throws -> [UInt8]? {
        state.withLock { $0.wasPulled = true }
        do {
            guard let check else { return try await pull() }
            if state.withLock({ $0.heldBack == nil }) { try await holdBack(check) }
            let piece = state.withLock { $0.heldBack.take() }
            guard piece != nil else { return nil }
            try await holdBack(check)
            if state.withLock({ $0.heldBack == nil }) { try check.verify() }
            return piece
        } catch {
            state.withLock { $0.failure = error }
            throw error
        }
    }

    private func holdBack(_ check: DigestCheck) async throws {
        let piece = try await pull()
        if let piece { check.update(piece) }
        state.withLock { $0.heldBack = piece }
    }

    private func pull() async throws -> [UInt8]? {
        if let piece = state.withLock({ $0.ahead.popLast() }) { return piece }
        return try await exchange.readBody()
    }

    func cancel() {}
}
