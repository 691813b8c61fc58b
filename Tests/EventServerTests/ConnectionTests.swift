import CacheCore
import EventServer
import HTTPModel
import Testing

/// Answers `GET /hit` at once, echoes bodies, streams `/stream/N` pieces, and refuses in plain text.
private struct EchoHandler: RequestHandler {
    func answerAtOnce(_ request: borrowing RawRequest, into sink: inout some ResponseSink & ~Copyable) -> Bool {
        guard request[request.target].elementsEqual("/hit".utf8) else { return false }
        var answer = Array("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nhit".utf8)
        answer.withUnsafeMutableBytes { sink.append(UnsafeRawBufferPointer($0)) }
        return true
    }

    func handle(_ exchange: any Exchange) {
        Task {
            let target = exchange.head.target
            if target == "/silent" { return }
            if target == "/early" { return exchange.respond(ResponseHead(status: 403), body: []) }
            if target == "/short" {
                exchange.begin(ResponseHead(status: 200), length: 10)
                try await exchange.write(Array("abc".utf8))
                return exchange.finish()
            }
            if target == "/stream" {
                exchange.begin(ResponseHead(status: 200), length: nil)
                for piece in ["one", "two", "three"] { try await exchange.write(Array(piece.utf8)) }
                return exchange.finish()
            }
            var body: [UInt8] = []
            do throws(ExchangeError) {
                while let piece = try await exchange.readBody() { body += piece }
            } catch {
                return exchange.respond(ResponseHead(status: error == .bodyTooLarge ? 413 : 400), body: [])
            }
            exchange.respond(ResponseHead(status: 200), body: Array("\(exchange.head.method) \(target) ".utf8) + body)
        }
    }

    func refusal(status: Int, reason: String) -> (contentType: String, body: [UInt8]) {
        ("text/plain", Array(reason.utf8))
    }
}

@Suite struct ConnectionTests {
    /// Sends the bytes and returns all that comes back until the server closes.
    private func exchange(_ sent: String, limits: ServerLimits = ServerLimits()) async throws -> String {
        let server = EventServer(
            listeners: [try ListenAddress(parsing: "127.0.0.1:0")], threads: 1, limits: limits, handler: EchoHandler())
        try server.start()
        let client = try RawClient(address: server.boundAddresses[0])
        client.send(sent)
        client.shutWriting()
        let answer = await client.read()
        await server.stop(deadline: 5)
        return answer
    }

    private func statuses(_ answer: String) -> [String] {
        answer.split(separator: "HTTP/1.1 ").map { String($0.prefix(3)) }
    }

    @Test(
        "malformed and ambiguous framing is refused, and the connection closes",
        arguments: [
            ("GET / HTTP/1.1\nHost: a\n\n", "400"),
            ("GET / HTTP/1.1\r\nHost: a\r\nX: a\u{0}b\r\n\r\n", "400"),
            ("GET / HTTP/1.1\r\nHost: a\r\n folded\r\n\r\n", "400"),
            ("GET / HTTP/1.1\r\nHost : a\r\n\r\n", "400"),
            ("GET / HTTP/1.1\r\n\r\n", "400"),
            ("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", "400"),
            ("GET / HTTP/2.0\r\nHost: a\r\n\r\n", "505"),
            ("GET  / HTTP/1.1\r\nHost: a\r\n\r\n", "400"),
            ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\nabc", "400"),
            ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +3\r\n\r\nabc", "400"),
            ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "400"),
            ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", "501"),
            ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: x ,\tchunked\r\n\r\n0\r\n\r\n", "501"),
            ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n", "400"),
            ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked,\r\n\r\n0\r\n\r\n", "400"),
            ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, xchunked\r\n\r\n0\r\n\r\n", "400"),
            ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n", "400"),
            ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n", "400"),
            ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcd\r\n0\r\n\r\n", "400"),
            ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3 junk\r\nabc\r\n0\r\n\r\n", "400"),
            ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3 \r\nabc\r\n0\r\n\r\n", "400"),
            ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nnocolon here\r\n\r\n", "400"),
            ("POST / HTTP/1.1\r\nHost: a\r\nExpect: tea\r\nContent-Length: 1\r\n\r\na", "417"),
            ("GET /\(String(repeating: "a", count: 9000)) HTTP/1.1\r\nHost: a\r\n\r\n", "414"),
            ("GET / HTTP/1.1\r\nHost: a\r\n\(String(repeating: "X: y\r\n", count: 101))\r\n", "431"),
        ])
    func refusals(sent: String, status: String) async throws {
        // A second request hides behind the bad one: it must not be answered.
        let answer = try await exchange(sent + "GET /hit HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(statuses(answer) == [status])
        #expect(answer.contains("Connection: close"))
    }

    @Test func `pipelined requests are answered in order, hits and others mixed`() async throws {
        let answer = try await exchange(
            "GET /hit HTTP/1.1\r\nHost: a\r\n\r\nPUT /a HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhiGET /hit HTTP/1.1\r\nHost: a\r\n\r\nGET /b HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
        )
        #expect(statuses(answer) == ["200", "200", "200", "200"])
        let put = try #require(answer.firstRange(of: "PUT /a hi"))
        let get = try #require(answer.firstRange(of: "GET /b"))
        #expect(put.lowerBound < get.lowerBound)
    }

    @Test func `a chunked body arrives decoded, extensions and trailers dropped`() async throws {
        let answer = try await exchange(
            "POST /c HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n2\r\nde\r\n0\r\nT: v\r\n\r\n"
        )
        #expect(answer.hasSuffix("POST /c abcde"))
    }

    @Test func `a body of unknown length is answered in chunks`() async throws {
        let answer = try await exchange("GET /stream HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(answer.hasSuffix("3\r\none\r\n3\r\ntwo\r\n5\r\nthree\r\n0\r\n\r\n"))
    }

    @Test func `a client of HTTP/1.0 gets a body that closing ends`() async throws {
        let answer = try await exchange("GET /stream HTTP/1.0\r\n\r\n")
        #expect(answer.hasSuffix("\r\n\r\nonetwothree"))
        #expect(answer.contains("Connection: close"))
    }

    @Test func `HEAD has the length and no body, and the connection goes on`() async throws {
        let answer = try await exchange("HEAD /x HTTP/1.1\r\nHost: a\r\n\r\nGET /hit HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(statuses(answer) == ["200", "200"])
        #expect(answer.contains("Content-Length: 8\r\n\r\nHTTP/1.1 200"))
    }

    @Test func `100 Continue goes out when the body is read`() async throws {
        let answer = try await exchange(
            "PUT /e HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 1000000\r\n\r\n")
        #expect(answer.hasPrefix("HTTP/1.1 100 Continue\r\n\r\n"))
    }

    @Test func `an answer given before the body is read comes without 100 and closes`() async throws {
        let answer = try await exchange(
            "PUT /early HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n")
        #expect(statuses(answer) == ["403"])
    }

    @Test func `an exchange that is dropped without an answer is answered 500`() async throws {
        let answer = try await exchange("GET /silent HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(statuses(answer) == ["500"])
    }

    @Test func `a body above the limit is refused before it is read`() async throws {
        var limits = ServerLimits()
        limits.body = 10
        let answer = try await exchange("PUT /x HTTP/1.1\r\nHost: a\r\nContent-Length: 11\r\n\r\n", limits: limits)
        #expect(statuses(answer) == ["413"])
    }

    @Test func `connections above the limit get 503`() async throws {
        var limits = ServerLimits()
        limits.connections = 0
        let answer = try await exchange("GET /hit HTTP/1.1\r\nHost: a\r\n\r\n", limits: limits)
        #expect(statuses(answer) == ["503"])
    }

    @Test func `a head that takes too long is answered 408`() async throws {
        var limits = ServerLimits()
        limits.headTime = 0.1
        let server = EventServer(
            listeners: [try ListenAddress(parsing: "127.0.0.1:0")], threads: 1, limits: limits, handler: EchoHandler())
        try server.start()
        let client = try RawClient(address: server.boundAddresses[0])
        client.send("GET / HTTP/1.1\r\nHo")
        let answer = await client.read()
        #expect(statuses(answer) == ["408"])
        await server.stop(deadline: 1)
    }

    @Test func `a large body passes both ways in pieces`() async throws {
        let body = String(repeating: "0123456789abcdef", count: 200_000)
        let answer = try await exchange(
            "PUT /big HTTP/1.1\r\nHost: a\r\nContent-Length: \(body.utf8.count)\r\n\r\n" + body)
        let isWhole = answer.hasSuffix("PUT /big " + body)
        #expect(isWhole)
    }
}
