import CacheCore
import EventServer
import Glibc
import HTTPModel
import TestSupport
import Testing

/// Tasks that run on the thread of their connection's loop.
@Suite struct LoopExecutorTests {
    @Test func `the task of an exchange stays on one thread, also after it waited elsewhere`() async throws {
        let server = try ScriptedServer { exchange, _ throws(ExchangeError) in
            let first = pthread_self()
            await Task.detached { await Task.yield() }.value
            exchange.respond(
                ResponseHead(status: 200), body: Array(first == pthread_self() ? "same".utf8 : "other".utf8))
        }
        let client = try server.client()
        client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(await client.read { $0.hasSuffix("same") || $0.hasSuffix("other") }.hasSuffix("same"))
        await server.stop()
    }

    @Test func `hits are answered while a task of the same loop goes on and on`() async throws {
        let server = try ScriptedServer(hitSize: 3) { exchange, journal throws(ExchangeError) in
            await eventually { journal.written > 0 }
            exchange.abort()
        }
        let busy = try server.client()
        busy.send("GET /busy HTTP/1.1\r\nHost: a\r\n\r\n")
        let client = try server.client()
        client.send("GET /hit HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(await client.read { $0.hasSuffix("xxx") }.hasPrefix("HTTP/1.1 200"))
        server.journal.wrote(1)
        await server.stop()
    }
}
