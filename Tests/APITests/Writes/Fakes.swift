import CacheCore
import HTTPModel
import Synchronization
import TestSupport

/// A client's exchange whose answer is kept.
final class ClientExchange: Exchange {
    struct Answer {
        var head: ResponseHead?
        var body: [UInt8] = []
        var wasAborted = false
    }
    let head: RequestHead
    private let pieces: Mutex<[[UInt8]]>
    private let kept = Mutex(Answer())

    init(_ head: RequestHead, body: [UInt8]) {
        self.head = head
        pieces = Mutex(body.isEmpty ? [] : [body])
    }

    var answer: Answer { kept.withLock { $0 } }

    func readBody() async throws(ExchangeError) -> [UInt8]? {
        pieces.withLock { $0.isEmpty ? nil : $0.removeFirst() }
    }
    func respond(_ head: ResponseHead, body: [UInt8]) {
        kept.withLock {
            $0.head = head
            $0.body = body
        }
    }
    func begin(_ head: ResponseHead, length: Int64?) { kept.withLock { $0.head = head } }
    func write(_ piece: [UInt8]) async throws(ExchangeError) { kept.withLock { $0.body += piece } }
    func onDeparture(_ call: @escaping @Sendable () -> Void) {}
    func finish() {}
    func abort() { kept.withLock { $0.wasAborted = true } }
}

/// An origin in the process: gives the next scripted answer, in order.
final class InProcessOrigin: Origin {
    enum Step: Sendable {
        case answer(Int, HTTPFields, String)
        case failure(OriginError)
        /// Received at once, answered when the latch opens.
        indirect case held(Latch, Step)
    }
    struct Received: Sendable {
        var method: HTTPMethod
        var target: String
        var fields: HTTPFields
        var body: [UInt8]
    }
    let base = "http://origin.test"
    private let steps = Mutex<[Step]>([])
    private let log = Mutex<[Received]>([])

    var received: [Received] { log.withLock { $0 } }
    func then(_ status: Int, _ fields: HTTPFields = HTTPFields(), _ body: String = "") {
        steps.withLock { $0.append(.answer(status, fields, body)) }
    }
    func thenHold(_ latch: Latch, _ status: Int, _ fields: HTTPFields = HTTPFields(), _ body: String = "") {
        steps.withLock { $0.append(.held(latch, .answer(status, fields, body))) }
    }
    func thenFail(_ error: OriginError) { steps.withLock { $0.append(.failure(error)) } }

    func send(_ request: OriginRequest) async throws(OriginError) -> OriginResponse {
        var step = steps.withLock { $0.isEmpty ? Step.answer(500, HTTPFields(), "unscripted") : $0.removeFirst() }
        if case .failure(let error) = step { throw error }
        var body: [UInt8] = []
        switch request.body {
        case .none: break
        case .bytes(let bytes): body = bytes
        case .stream(_, let source):
            do { while let piece = try await source.next() { body += piece } } catch { throw .cancelled }
        }
        log.withLock {
            $0.append(Received(method: request.method, target: request.target, fields: request.fields, body: body))
        }
        if case .held(let latch, let then) = step {
            await latch.wait()
            step = then
        }
        guard case .answer(let status, let fields, let text) = step else { throw .cancelled }
        return OriginResponse(status: status, fields: fields, body: MemoryBodySource(Array(text.utf8)))
    }
    func probeConnection() async throws(OriginError) {}
}

/// A network that is what the test says, and goes offline with a failed connection.
final class SwitchedNetwork: Network {
    private let current = Mutex(NetworkState.online)
    var state: NetworkState { current.withLock { $0 } }
    func connectionFailed(_ error: OriginError) { current.withLock { $0 = .offline } }
    func answered(status: Int) {}
    func looksLikePortal(status: Int, fields: HTTPFields, expectsJSON: Bool) -> Bool { false }
    func confirmPortal() async -> Bool { false }
    func force(offline: Bool) { current.withLock { $0 = offline ? .offline : .online } }
    func waitUntilOnline(deadline: Double) async {}
}

struct NoDelivery: Delivery {
    func syncNow(deadline: Double) async -> [OperationID] { [] }
    func resolve(_ conflict: Conflict, by resolution: Resolution) async throws -> ResolutionOutcome { .resolved }
    var isSuspended: Bool { false }
    func suspend(_ suspended: Bool) {}
}

struct Silence: EventSink, Log {
    func emit(_ event: Event) {}
    func write(_ level: LogLevel, _ message: StaticString, _ values: [(String, String)]) {}
}
