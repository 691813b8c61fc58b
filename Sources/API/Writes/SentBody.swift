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

/// A body on its way from the client: what was read ahead, then the rest as it arrives. One reader.
final class ClientBody: BodySource {
    private struct State {
        var ahead: [[UInt8]]
        var wasPulled = false
        var failure: ExchangeError?
    }

    /// nil where the client sends chunks.
    let length: Int64?
    private let state: Mutex<State>
    private let exchange: any Exchange

    init(_ exchange: any Exchange, readAhead: [[UInt8]]) {
        self.exchange = exchange
        length = exchange.head.bodyLength
        state = Mutex(State(ahead: readAhead.reversed()))
    }

    /// Whether a part has gone to the origin: then it can't be kept any more.
    var wasPulled: Bool { state.withLock { $0.wasPulled } }
    /// Why the client's side ended early.
    var failure: ExchangeError? { state.withLock { $0.failure } }

    func next() async throws -> [UInt8]? {
        let piece = state.withLock { state in
            state.wasPulled = true
            return state.ahead.popLast()
        }
        if let piece { return piece }
        do {
            return try await exchange.readBody()
        } catch {
            state.withLock { $0.failure = error }
            throw error
        }
    }

    func cancel() {}
}
