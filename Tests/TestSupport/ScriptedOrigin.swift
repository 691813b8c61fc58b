import Glibc
package import HTTPModel
import Synchronization
package import Testing

/// An origin for tests: a real HTTP/1.1 server on 127.0.0.1 that does what a script says, byte for byte.
///
/// ```swift
/// let origin = ScriptedOrigin { request in
///     request.method == "GET" ? .answer(200, ["ETag": "\"1\""], "one") : .noAnswer
/// }
/// // … use origin.base …
/// await origin.wait { $0.requests.count == 2 }
/// #expect(origin.requests[0].target == "/items/1")
/// ```
///
/// Each connection has a thread. A request is read with its body and recorded, then the closure's steps are done; the
/// connection stays open for the next request unless a step closes it. `beforeBody` (if given) runs when only the head is
/// there: for interim answers, early refusals, and to hold the reading of an upload. Stops when released.
package final class ScriptedOrigin: Sendable {
    /// A request as it arrived.
    package struct Request: Sendable {
        /// Which connection brought it, counted from 0.
        package var connection = 0
        package var method = ""
        package var target = ""
        package var fields = HTTPFields()
        /// The decoded body, at most its first MiB.
        package var body: [UInt8] = []
        /// The decoded body's whole length.
        package var bodyLength = 0
        /// False where the connection ended within the body.
        package var isComplete = true
        /// The head's bytes, with the empty line.
        package var head: [UInt8] = []

        package var text: String { String(decoding: body, as: UTF8.self) }
    }

    /// What happened so far.
    package struct Record: Sendable {
        package var requests: [Request] = []
        /// Connections taken, and how many of them are closed again.
        package var connections = 0
        package var closed = 0
        /// Body bytes read so far, of all requests.
        package var bodyBytes = 0
    }

    package typealias Script = @Sendable (Request) -> [ScriptedStep]

    package let port: UInt16
    /// `http://127.0.0.1:PORT`
    package var base: String { "http://127.0.0.1:\(port)" }
    private let server: ScriptedServer

    /// Listens at once. `port` 0 picks a free one; give one to come back where another origin was.
    package init(port: UInt16 = 0, beforeBody: Script? = nil, _ script: @escaping Script) {
        server = ScriptedServer(port: port, beforeBody: beforeBody, script: script)
        self.port = server.port
        server.start()
    }

    /// Answers the first request with the first reply and so on; the last one stays.
    package convenience init(replies: [[ScriptedStep]]) {
        let left = Mutex(replies[...])
        self.init { _ in
            left.withLock { left in
                let reply = left.first ?? []
                if left.count > 1 { left.removeFirst() }
                return reply
            }
        }
    }

    package var record: Record { server.record }
    package var requests: [Request] { record.requests }

    /// Suspends until the record satisfies the condition.
    package func wait(
        sourceLocation: SourceLocation = #_sourceLocation, until condition: @escaping @Sendable (Record) -> Bool
    ) async {
        await server.wait(until: condition, sourceLocation)
    }

    /// Stops listening, closes all connections and ends all threads. Returns when it is done.
    package func stop() { server.stop() }

    deinit { server.stop() }

    /// A port of 127.0.0.1 on which nobody listens.
    package static func closedPort() -> UInt16 {
        let origin = ScriptedOrigin { _ in [] }
        defer { origin.stop() }
        return origin.port
    }
}
