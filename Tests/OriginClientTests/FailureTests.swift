import CacheCore
import Faults
import Glibc
import HTTPModel
import OriginClient
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1))) struct FailureTests {
    static let silent: ScriptedOrigin.Script = { _ in [.awaitClose] }

    @Test func `A refused connection is unreachable`() async throws {
        let client = try CurlOrigin(OriginOptions(base: "http://127.0.0.1:\(ScriptedOrigin.closedPort())"))
        #expect(await client.error(request(.put, "/", body: "x"))?.isPlainUnreachable == true)
        await #expect(throws: OriginError.self) { try await client.probeConnection() }
    }

    @Test(.enabled(if: faults_can_forbid_threads()))
    func `Without a thread to be had it is not started, and says so`() throws {
        let options = try OriginOptions(base: "http://127.0.0.1:1")
        faults_set("thread plain EAGAIN")
        let error = #expect(throws: OriginStartError.self) { try CurlOrigin(options) }
        faults_set("")
        #expect(error?.description.hasPrefix("no thread could be started") == true)
        try CurlOrigin(options).shutdown()
    }

    @Test func `Times without end are no trouble`() async throws {
        let origin = ScriptedOrigin { _ in .answer(200) }
        var options = try OriginOptions(base: "http://127.0.0.1:\(origin.port)")
        (options.connectTimeout, options.firstByteTimeout, options.idleTimeout) = (1e300, 1e300, 1e300)
        options.totalTimeout = 1e300
        let client = try CurlOrigin(options)
        #expect(try await client.send(request(.get, "/")).status == 200)
    }

    @Test func `A name that does not exist is unreachable`() async throws {
        let client = try CurlOrigin(OriginOptions(base: "http://nowhere.invalid"))
        #expect(await client.error(request(.get, "/"))?.isPlainUnreachable == true)
    }

    @Test func `A server without TLS is a TLS failure`() async throws {
        let origin = ScriptedOrigin { _ in .answer(200) }
        var options = try OriginOptions(base: "https://127.0.0.1:\(origin.port)")
        // The handshake ends by the origin's stop, not by a deadline that a busy machine meets.
        options.connectTimeout = 20
        let client = try CurlOrigin(options)
        let closing = Task { await client.error(request(.get, "/")) }
        await origin.wait { $0.connections == 1 }
        origin.stop()
        #expect(await closing.value?.isTLSFailure == true)
    }

    @Test func `A probe connects and closes`() async throws {
        let origin = ScriptedOrigin { _ in .answer(200) }
        let client = try client(origin)
        try await client.probeConnection()
        await origin.wait { $0.closed == 1 }
        #expect(origin.record.connections == 1 && origin.requests.isEmpty)
    }

    @Test func `Silence after the request is a timeout`() async throws {
        let origin = ScriptedOrigin(Self.silent)
        let client = try client(origin) { $0.firstByteTimeout = 0.1 }
        #expect(await client.error(request(.post, "/", body: "x"))?.isTimeout == true)
        await origin.wait { $0.closed == 1 }
        #expect(origin.requests.count == 1)
    }

    @Test func `Silence within a body cuts it`() async throws {
        let origin = ScriptedOrigin { _ in .head(200, ["Content-Length": "9"]) + .raw("half") + [.awaitClose] }
        let client = try client(origin) { $0.idleTimeout = 0.1 }
        let body = try await client.send(request(.get, "/")).body
        let error = await #expect(throws: OriginError.self) { try await body.all() }
        #expect(error?.isCutBody == true)
        await origin.wait { $0.closed == 1 }
    }

    @Test func `The total time ends a transfer that goes on and on`() async throws {
        let origin = ScriptedOrigin { _ in
            .head(200, ["Transfer-Encoding": "chunked"])
                + (0..<100_000).flatMap { _ in [.chunk("x"), .pause(milliseconds: 10)] as [ScriptedStep] }
        }
        let client = try client(origin) { $0.totalTimeout = 0.5 }
        await #expect(throws: OriginError.self) { try await client.text(request(.get, "/")) }
        await origin.wait { $0.closed == 1 }
    }

    @Test func `After a timeout the next request gets its own answer`() async throws {
        let gate = Gate()
        let origin = ScriptedOrigin {
            $0.target == "/a" ? [.wait(gate)] + .answer(200, [:], "a") : .answer(200, [:], "b")
        }
        let client = try client(origin) { $0.firstByteTimeout = 1 }
        #expect(await client.error(request(.get, "/a"))?.isTimeout == true)
        gate.open()
        #expect(try await client.text(request(.get, "/b")) == "b")
        #expect(origin.record.connections == 2)
    }

    @Test func `Transfers that time out leave no descriptor behind`() async throws {
        let origin = ScriptedOrigin(Self.silent)
        let client = try client(origin) { $0.firstByteTimeout = 0.05 }
        for round in 0..<4 {
            await withTaskGroup { group in
                for _ in 0..<50 {
                    group.addTask { #expect(await client.error(request(.get, "/"))?.isTimeout == true) }
                }
            }
            await origin.wait { $0.closed == 50 * (round + 1) }
        }
        #expect(origin.record.connections == 200)
    }

    @Test func `Cancelling the task ends the transfer`() async throws {
        let origin = ScriptedOrigin(Self.silent)
        let client = try client(origin)
        let task = Task { await client.error(request(.get, "/")) }
        await origin.wait { $0.requests.count == 1 }
        task.cancel()
        #expect(await task.value == .cancelled)
        await origin.wait { $0.closed == 1 }
    }

    @Test func `Cancelling a body ends the transfer`() async throws {
        let origin = ScriptedOrigin { _ in .head(200, ["Content-Length": "9"]) + .raw("half") + [.awaitClose] }
        let client = try client(origin)
        let body = try await client.send(request(.get, "/")).body
        body.cancel()
        await origin.wait { $0.closed == 1 }
        let error = await #expect(throws: OriginError.self) { while try await body.next() != nil {} }
        #expect(error == .cancelled)
    }

    @Test func `A body that nobody keeps ends its transfer`() async throws {
        let origin = ScriptedOrigin { _ in .head(200, ["Content-Length": "9"]) + [.awaitClose] }
        let client = try client(origin)
        _ = try await client.send(request(.get, "/"))
        await origin.wait { $0.closed == 1 }
    }

    @Test func `A cancelled body source ends nothing after the end`() async throws {
        let origin = ScriptedOrigin { _ in .answer(200, [:], "all") }
        let client = try client(origin)
        let body = try await client.send(request(.get, "/")).body
        #expect(try await body.text() == "all")
        body.cancel()
        #expect(try await client.text(request(.get, "/")) == "all")
        #expect(origin.record.connections == 1)
    }

    @Test func `Stopping fails what runs and everything after`() async throws {
        let origin = ScriptedOrigin(Self.silent)
        let client = try client(origin)
        let task = Task { await client.error(request(.put, "/", body: "x")) }
        await origin.wait { $0.requests.count == 1 }
        client.shutdown()
        #expect(await task.value?.isNoAnswer == true)
        #expect(await client.error(request(.get, "/")) == .cancelled)
        client.shutdown()
    }

    @Test func `Many requests at once all get their own answers`() async throws {
        let origin = ScriptedOrigin { .answer(200, [:], $0.target) }
        let client = try client(origin)
        await withTaskGroup { group in
            for number in 0..<300 {
                group.addTask {
                    let text = try? await client.text(request(.get, "/\(number)"))
                    #expect(text == "/\(number)")
                }
            }
        }
    }
}
