import CacheCore
import HTTPModel
import OriginClient
import TestSupport
import Testing

/// Each origin here reads a request, carries it out (records it) and closes without an answer.
@Suite(.timeLimit(.minutes(1))) struct AtMostOnceTests {
    static let writes = ["POST", "PUT", "DELETE", "PATCH", "LOCK"]

    /// Answers on the first request of each connection, dies on the second.
    static func dyingOrigin() -> ScriptedOrigin {
        ScriptedOrigin { $0.target == "/warm" ? .answer(200) : .noAnswer }
    }

    @Test("a write without an answer was sent once", arguments: writes, [nil, "", "body"])
    func fresh(_ method: String, _ body: String?) async throws {
        let origin = ScriptedOrigin { _ in .noAnswer }
        let error = try await client(origin).error(request(HTTPMethod(rawValue: method), "/x", body: body))
        #expect(error?.isNoAnswer == true, "\(String(describing: error))")
        #expect(origin.requests.count == 1)
    }

    @Test("a write on a used connection that dies was sent once", arguments: writes, [nil, "", "body"])
    func reused(_ method: String, _ body: String?) async throws {
        let origin = Self.dyingOrigin()
        let client = try client(origin)
        _ = try await client.text(request(.get, "/warm"))
        let error = await client.error(request(HTTPMethod(rawValue: method), "/x", body: body))
        #expect(error?.isNoAnswer == true, "\(String(describing: error))")
        #expect(origin.requests.filter { $0.target == "/x" }.count == 1)
    }

    @Test("an upload on a used connection that dies was sent once", arguments: [nil, Int64(300_000)])
    func stream(_ length: Int64?) async throws {
        let origin = Self.dyingOrigin()
        let client = try client(origin)
        _ = try await client.text(request(.get, "/warm"))
        let body = OriginRequestBody.stream(length: length, source: CountedSource(size: 300_000))
        let error = await client.error(OriginRequest(method: .put, target: "/x", body: body))
        #expect(error?.isNoAnswer == true, "\(String(describing: error))")
        #expect(origin.requests.filter { $0.target == "/x" }.count == 1)
    }

    @Test("a write whose connection was closed while idle is never run twice", arguments: writes)
    func closedWhileIdle(_ method: String) async throws {
        let origin = ScriptedOrigin { _ in .answer(200) + [.close] }
        let client = try client(origin)
        _ = try await client.text(request(.get, "/warm"))
        await origin.wait { $0.closed == 1 }
        _ = await client.error(request(HTTPMethod(rawValue: method), "/x", body: "body"))
        #expect(origin.requests.filter { $0.target == "/x" }.count <= 1)
    }

    @Test("a read on a used connection that dies is sent again", arguments: ["GET", "HEAD", "OPTIONS"])
    func repeated(_ method: String) async throws {
        let origin = ScriptedOrigin { request in
            request.target == "/x" && request.connection == 0 ? .noAnswer : .answer(200)
        }
        let client = try client(origin)
        _ = try await client.text(request(.get, "/warm"))
        #expect(try await client.send(request(HTTPMethod(rawValue: method), "/x")).status == 200)
        #expect(origin.requests.filter { $0.target == "/x" }.map(\.connection) == [0, 1])
    }

    @Test func `A read on a new connection that dies is not sent again`() async throws {
        let origin = ScriptedOrigin { _ in .noAnswer }
        #expect(try await client(origin).error(request(.get, "/x"))?.isNoAnswer == true)
        #expect(origin.requests.count == 1)
    }

    @Test func `A head that is cut is no answer`() async throws {
        let origin = ScriptedOrigin { _ in .raw("HTTP/1.1 200 OK\r\nA: b\r\n") + [.close] }
        #expect(try await client(origin).error(request(.put, "/", body: "x"))?.isNoAnswer == true)
        #expect(origin.requests.count == 1)
    }

    @Test func `A reset after the request is no answer`() async throws {
        let origin = ScriptedOrigin { _ in [.reset] }
        #expect(try await client(origin).error(request(.put, "/", body: "x"))?.isNoAnswer == true)
    }
}
