import CacheCore
import EventServer
import HTTPModel
import Testing

/// An answer that did not leave whole must not look whole, and one that moves must not be cut.
@Suite struct CutAnswerTests {
    private static let size = 16 << 20

    private func statusLine(_ bytes: [UInt8]) -> String { String(decoding: bytes.prefix(12), as: UTF8.self) }

    @Test func `an answer shorter than its declared length ends with a reset`() async throws {
        let server = try ScriptedServer { exchange, _ throws(ExchangeError) in
            exchange.begin(ResponseHead(status: 200), length: 10)
            try await exchange.write(Array("abc".utf8))
            exchange.finish()
        }
        let client = try server.client()
        client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(await client.readToEnd().end == .reset)
        await server.stop()
    }

    @Test func `the short deadlines leave a body alone that a slow reader still takes`() async throws {
        var limits = ServerLimits()
        limits.idleTime = 0.3
        limits.headTime = 0.3
        let server = try ScriptedServer(limits: limits, hitSize: Self.size)
        let client = try server.client(receiveBuffer: 32 << 10)
        client.send("GET /hit HTTP/1.1\r\nHost: a\r\n\r\n")
        _ = await client.readToEnd(atMost: 1000)
        // Another connection's idle limit passes meanwhile: it is the clock of this test.
        #expect(await (try server.client()).readToEnd().end == .closed)
        let rest = await client.readToEnd()
        #expect(rest.bytes.count > Self.size - (1 << 20))
        #expect(rest.end == .closed)
        await server.stop()
    }

    @Test func `a body that closing ends arrives whole when the reader pauses for longer than a close lingers`()
        async throws
    {
        var limits = ServerLimits()
        limits.idleTime = 2.5
        let server = try ScriptedServer(limits: limits) { exchange, _ throws(ExchangeError) in
            exchange.respond(ResponseHead(status: 200), body: [UInt8](repeating: 120, count: Self.size))
        }
        let client = try server.client(receiveBuffer: 32 << 10)
        client.send("GET / HTTP/1.0\r\n\r\n")
        var all = await client.readToEnd(atMost: 1000).bytes
        #expect(await (try server.client()).readToEnd().end == .closed)
        let rest = await client.readToEnd()
        all += rest.bytes
        #expect(all.count > Self.size)
        #expect(rest.end == .closed)
        await server.stop()
    }

    @Test func `a reader that stalls for longer than the write limit is reset`() async throws {
        var limits = ServerLimits()
        limits.writeTime = 0.2
        let server = try ScriptedServer(limits: limits) { exchange, journal throws(ExchangeError) in
            try await stream(Self.size, of: nil, to: exchange, journal)
        }
        let client = try server.client(receiveBuffer: 32 << 10)
        client.send("GET / HTTP/1.0\r\n\r\n")
        #expect(await server.journal.nextError() == .disconnected)
        #expect(await client.readToEnd().end == .reset)
        await server.stop()
    }

    @Test func `a writer is suspended while the client does not read`() async throws {
        var limits = ServerLimits()
        limits.writeTime = 0.3
        let total = 256 << 20
        let server = try ScriptedServer(limits: limits) { exchange, journal throws(ExchangeError) in
            try await stream(total, of: Int64(total), to: exchange, journal)
        }
        let client = try server.client(receiveBuffer: 32 << 10)
        client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(await server.journal.nextError() == .disconnected)
        // What the kernel took, and one high-water mark.
        #expect(server.journal.written < 32 << 20)
        _ = client
        await server.stop()
    }

    @Test func `stop lets a running answer end`() async throws {
        let server = try ScriptedServer { exchange, _ throws(ExchangeError) in
            exchange.respond(ResponseHead(status: 200), body: [UInt8](repeating: 120, count: Self.size))
        }
        let client = try server.client(receiveBuffer: 32 << 10)
        client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        var all = await client.readToEnd(atMost: 1000).bytes
        async let stopped: Void = server.server.stop(deadline: 20)
        let rest = await client.readToEnd()
        all += rest.bytes
        await stopped
        #expect(all.count > Self.size)
        #expect(rest.end == .closed)
    }

    @Test func `stop resets an answer that is unsent at its deadline`() async throws {
        let server = try ScriptedServer { exchange, _ throws(ExchangeError) in
            exchange.respond(ResponseHead(status: 200), body: [UInt8](repeating: 120, count: Self.size))
        }
        let client = try server.client(receiveBuffer: 32 << 10)
        client.send("GET / HTTP/1.0\r\n\r\n")
        _ = await client.readToEnd(atMost: 1000)
        await server.stop()
        #expect(await client.readToEnd().end == .reset)
    }

    @Test func `an exchange that outlives the server fails with disconnected`() async throws {
        let (started, start) = AsyncStream.makeStream(of: Void.self)
        let (ended, end) = AsyncStream.makeStream(of: Void.self)
        let server = try ScriptedServer { exchange, _ throws(ExchangeError) in
            start.finish()
            for await _ in ended {}
            _ = try await exchange.readBody()
        }
        let client = try server.client()
        client.send("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\n")
        for await _ in started {}
        await server.stop()
        end.finish()
        #expect(await server.journal.nextError() == .disconnected)
        _ = client
    }
}
