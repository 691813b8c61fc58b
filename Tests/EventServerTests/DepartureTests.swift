import CacheCore
import EventServer
import HTTPModel
import TestSupport
import Testing

/// A handler that waits for something else learns that its client has left.
@Suite struct DepartureTests {
    /// Begins an answer and waits for the client to leave.
    private func server(_ left: Latch, _ begun: Latch = Latch()) throws -> ScriptedServer {
        try ScriptedServer { exchange, _ throws(ExchangeError) in
            exchange.onDeparture { left.open() }
            exchange.begin(ResponseHead(status: 200), length: nil)
            try await exchange.write(Array("x".utf8))
            begun.open()
            await left.wait()
            exchange.finish()
        }
    }

    @Test func `a client that closes its side has left`() async throws {
        let left = Latch()
        let server = try server(left)
        let client = try server.client()
        client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        client.shutWriting()
        await left.wait()
        // It may still read.
        #expect(String(decoding: await client.readToEnd().bytes, as: UTF8.self).hasSuffix("0\r\n\r\n"))
        await server.stop()
    }

    @Test func `a client that is gone has left`() async throws {
        let (left, begun) = (Latch(), Latch())
        let server = try server(left, begun)
        var client: RawClient? = try server.client()
        client?.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        await begun.wait()
        client = nil
        await left.wait()
        await server.stop()
    }

    @Test func `who asks after the client has left is told at once, and nobody after the answer's end`() async throws {
        let (early, late, told) = (Latch(), Latch(), Latch())
        let server = try ScriptedServer { exchange, journal throws(ExchangeError) in
            if exchange.head.target == "/whole" {
                exchange.onDeparture { journal.wrote(1) }
                return exchange.respond(ResponseHead(status: 200), body: [])
            }
            early.open()
            await late.wait()
            exchange.onDeparture { told.open() }
            await told.wait()
            exchange.abort()
        }
        let whole = try server.client()
        whole.send("GET /whole HTTP/1.1\r\nHost: a\r\n\r\n")
        _ = await whole.readToEnd(atMost: 1)
        whole.shutWriting()
        _ = await whole.readToEnd()
        #expect(server.journal.written == 0)
        var client: RawClient? = try server.client()
        client?.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        await early.wait()
        client = nil
        late.open()
        await told.wait()
        await server.stop()
    }
}
