import CacheCore
import EventServer
import HTTPModel
import TestSupport
import Testing

/// Bodies that stall, break or come late.
@Suite struct RequestBodyTests {
    private func readAll(_ exchange: any Exchange) async throws(ExchangeError) {
        while try await exchange.readBody() != nil {}
    }

    @Test func `a body that stalls is answered 408`() async throws {
        var limits = ServerLimits()
        limits.bodyTime = 0.1
        let server = try ScriptedServer(limits: limits) { exchange, _ throws(ExchangeError) in
            try await readAll(exchange)
        }
        let client = try server.client()
        client.send("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\na")
        #expect(await client.read().hasPrefix("HTTP/1.1 408 "))
        #expect(await server.journal.nextError() == .disconnected)
        await server.stop()
    }

    @Test(
        "a body that its client cuts by closing its side is answered 400",
        arguments: ["Content-Length: 3\r\n\r\na", "Transfer-Encoding: chunked\r\n\r\n3\r\na"])
    func cut(rest: String) async throws {
        let server = try ScriptedServer { exchange, journal throws(ExchangeError) in
            while let piece = try await exchange.readBody() { journal.wrote(piece.count) }
        }
        let client = try server.client()
        client.send("PUT / HTTP/1.1\r\nHost: a\r\n" + rest)
        // The reader waits for more then.
        await eventually { server.journal.written == 1 }
        client.shutWriting()
        #expect(await client.read().hasPrefix("HTTP/1.1 400 "))
        #expect(await server.journal.nextError() == .malformedBody)
        await server.stop()
    }

    @Test func `a rest that trickles behind its answer does not hold the connection`() async throws {
        let server = try ScriptedServer { exchange, _ throws(ExchangeError) in
            exchange.respond(ResponseHead(status: 413), body: [])
        }
        let client = try server.client()
        client.send("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 60000\r\n\r\n")
        let sending = Task {
            while !Task.isCancelled {
                client.send("x")
                try await Task.sleep(for: .milliseconds(100))
            }
        }
        #expect(await client.readToEnd().end != .stillOpen)
        sending.cancel()
        await server.stop()
    }

    @Test func `a malformed body is answered 400 although the handler aborts`() async throws {
        let server = try ScriptedServer { exchange, _ throws(ExchangeError) in try await readAll(exchange) }
        let client = try server.client()
        client.send("PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcd\r\n0\r\n\r\n")
        #expect(await client.read().hasPrefix("HTTP/1.1 400 "))
        #expect(await server.journal.nextError() == .malformedBody)
        await server.stop()
    }

    @Test func `a body that breaks behind a begun answer resets it`() async throws {
        let server = try ScriptedServer { exchange, _ throws(ExchangeError) in
            exchange.begin(ResponseHead(status: 200), length: nil)
            try await readAll(exchange)
        }
        let client = try server.client()
        client.send("PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n")
        #expect(await client.readToEnd().end == .reset)
        await server.stop()
    }

    @Test func `100 Continue never lands in an answer that has begun`() async throws {
        let server = try ScriptedServer { exchange, _ throws(ExchangeError) in
            exchange.begin(ResponseHead(status: 200), length: 5)
            try await exchange.write(Array("12345".utf8))
            try await readAll(exchange)
            exchange.finish()
        }
        let client = try server.client()
        client.send("PUT / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n")
        #expect(await client.read { $0.hasSuffix("12345") }.contains("100 Continue") == false)
        client.send("x")
        client.shutWriting()
        #expect(await client.readToEnd().bytes.isEmpty)
        await server.stop()
    }

    @Test func `a client that goes away ends a read with disconnected`() async throws {
        let server = try ScriptedServer { exchange, _ throws(ExchangeError) in
            exchange.begin(ResponseHead(status: 200), length: nil)
            while true { try await exchange.write([1]) }
        }
        do {
            let client = try server.client()
            client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            _ = await client.readToEnd(atMost: 1)
        }
        #expect(await server.journal.nextError() == .disconnected)
        await server.stop()
    }

    @Test func `a body that comes with its head is read as sent, and the request behind it is answered`() async throws {
        let server = try ScriptedServer { exchange, _ throws(ExchangeError) in
            var body: [UInt8] = []
            while let piece = try await exchange.readBody() { body += piece }
            exchange.respond(ResponseHead(status: 200), body: body + Array("|\(exchange.head.target)".utf8))
        }
        let client = try server.client()
        client.send("PUT /1 HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabcPUT /2 HTTP/1.1\r\nHost: a\r\n")
        client.send("Content-Length: 2\r\n\r\nde")
        let answers = await client.read { $0.hasSuffix("|/2") }
        #expect(answers.contains("\r\n\r\nabc|/1HTTP/1.1 200"))
        #expect(answers.hasSuffix("\r\n\r\nde|/2"))
        await server.stop()
    }

    @Test func `a body that came with its head and is not read is passed over`() async throws {
        let server = try ScriptedServer { exchange, _ throws(ExchangeError) in
            exchange.respond(ResponseHead(status: 200), body: Array(exchange.head.target.utf8))
        }
        let client = try server.client()
        client.send("PUT /1 HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabcGET /2 HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(await client.read { $0.hasSuffix("/2") }.contains("\r\n\r\n/1HTTP/1.1 200"))
        await server.stop()
    }
}
