import CacheCore
import EventServer
import HTTPModel
import Synchronization
import TestSupport
import Testing

/// What the exchanges of a test told.
final class Journal: Sendable {
    private struct State {
        var count = 0
        var errors: [ExchangeError] = []
    }
    private let state = Mutex(State())

    /// Bytes that a handler could hand over.
    var written: Int { state.withLock { $0.count } }
    func wrote(_ count: Int) { state.withLock { $0.count += count } }

    func failed(_ error: ExchangeError) { state.withLock { $0.errors.append(error) } }

    /// The next error that a handler met; nil where none comes.
    func nextError(sourceLocation: SourceLocation = #_sourceLocation) async -> ExchangeError? {
        await eventually(sourceLocation: sourceLocation) { state.withLock { !$0.errors.isEmpty } }
        return state.withLock { $0.errors.popLast() }
    }
}

/// Runs a closure for each exchange and aborts where it throws; `GET /hit` is answered at once with `hitSize` bytes.
struct ScriptedHandler: RequestHandler {
    let journal: Journal
    let hitSize: Int
    let script: @Sendable (any Exchange, Journal) async throws(ExchangeError) -> Void

    func answerAtOnce(_ request: borrowing RawRequest, into sink: inout some ResponseSink & ~Copyable) -> Bool {
        guard request[request.target].elementsEqual("/hit".utf8) else { return false }
        var answer = Array("HTTP/1.1 200 OK\r\nContent-Length: \(hitSize)\r\n\r\n".utf8)
        answer += [UInt8](repeating: 120, count: hitSize)
        answer.withUnsafeMutableBytes { sink.append(UnsafeRawBufferPointer($0)) }
        return true
    }

    func handle(_ exchange: any Exchange) {
        Task(executorPreference: exchange.executor) {
            do throws(ExchangeError) {
                try await script(exchange, journal)
            } catch {
                journal.failed(error)
                exchange.abort()
            }
        }
    }

    func refusal(status: Int, reason: String) -> (contentType: String, body: [UInt8]) {
        ("text/plain", Array(reason.utf8))
    }
}

/// A server whose exchanges run a script.
struct ScriptedServer: Sendable {
    let journal: Journal
    let server: EventServer<ScriptedHandler>

    init(
        _ address: String = "127.0.0.1:0", threads: Int = 1, limits: ServerLimits = ServerLimits(), hitSize: Int = 3,
        script: @escaping @Sendable (any Exchange, Journal) async throws(ExchangeError) -> Void = { exchange, _ in
            exchange.respond(ResponseHead(status: 200), body: Array("ok".utf8))
        }
    ) throws {
        journal = Journal()
        server = EventServer(
            listeners: [try ListenAddress(parsing: address)], threads: threads, limits: limits,
            handler: ScriptedHandler(journal: journal, hitSize: hitSize, script: script))
        try server.start()
    }

    func client(receiveBuffer: Int32? = nil) throws -> RawClient {
        try RawClient(address: server.boundAddresses[0], receiveBuffer: receiveBuffer)
    }

    func stop() async { await server.stop(deadline: 0) }
}

/// Streams `total` bytes in pieces and tells the journal how far it got.
func stream(
    _ total: Int, of declared: Int64?, to exchange: any Exchange, _ journal: Journal
) async throws(ExchangeError) {
    exchange.begin(ResponseHead(status: 200), length: declared)
    let piece = [UInt8](repeating: 120, count: 64 << 10)
    for _ in 0..<(total / piece.count) {
        try await exchange.write(piece)
        journal.wrote(piece.count)
    }
    exchange.finish()
}
