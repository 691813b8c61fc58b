import CacheCore
import HTTPModel
import OriginClient
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1))) struct AnswerTests {
    @Test func `Fields keep case and order and lose what is for one connection`() async throws {
        let origin = ScriptedOrigin { _ in
            .answer(
                200,
                [
                    "ETag": "\"1\"", "Connection": "X-Hop, keep-alive", "X-Hop": "1", "Keep-Alive": "timeout=5",
                    "x-B": " 2 ",
                    "Upgrade": "h2c", "Set-Cookie": "a", "Set-Cookie": "b", "Trailer": "T", "Content-Length": "0",
                ])
        }
        let fields = try await client(origin).send(request(.get, "/")).fields
        #expect(fields == ["ETag": "\"1\"", "x-B": "2", "Set-Cookie": "a", "Set-Cookie": "b", "Content-Length": "0"])
    }

    @Test func `Interim answers are passed over`() async throws {
        let origin = ScriptedOrigin { _ in
            .head(100) + .head(103, ["Link": "</x>"]) + .head(102) + .answer(201, ["A": "b"], "done")
        }
        let answer = try await client(origin).send(request(.post, "/", body: "x"))
        #expect(answer.status == 201 && answer.fields == ["A": "b", "Content-Length": "4"])
        #expect(try await answer.body.text() == "done")
    }

    @Test func `The head is there before the body`() async throws {
        let gate = Gate()
        let origin = ScriptedOrigin { _ in .head(200, ["Content-Length": "4"]) + [.wait(gate)] + .raw("body") }
        let answer = try await client(origin).send(request(.get, "/"))
        #expect(answer.status == 200)
        gate.open()
        #expect(try await answer.body.text() == "body")
    }

    @Test func `Chunks arrive as they are sent, trailers are left out`() async throws {
        let gate = Gate()
        let origin = ScriptedOrigin { _ in
            .head(200, ["Transfer-Encoding": "chunked"]) + [.chunk("one"), .wait(gate), .chunk("two")]
                + .raw("0\r\nX-Late: 1\r\n\r\n")
        }
        let client = try client(origin)
        let answer = try await client.send(request(.get, "/"))
        #expect(answer.isDelimited && answer.fields.isEmpty)
        #expect(try await answer.body.next() == Array("one".utf8))
        gate.open()
        #expect(try await answer.body.text() == "two")
        #expect(try await answer.body.next() == nil)
    }

    @Test func `A body that only the close ends is not delimited`() async throws {
        let origin = ScriptedOrigin { _ in .closeDelimited(200, [:], "to the end") }
        let answer = try await client(origin).send(request(.get, "/"))
        #expect(!answer.isDelimited)
        #expect(try await answer.body.text() == "to the end")
    }

    @Test("an answer without body is delimited", arguments: [204, 304])
    func bodiless(_ status: Int) async throws {
        let origin = ScriptedOrigin { _ in .answer(status) }
        let answer = try await client(origin).send(request(.get, "/"))
        #expect(answer.isDelimited && answer.status == status)
        #expect(try await answer.body.next() == nil)
    }

    @Test func `A HEAD answer keeps its length and has no body`() async throws {
        let origin = ScriptedOrigin { _ in .head(200, ["Content-Length": "123456"]) }
        let client = try client(origin)
        for _ in 0..<2 {
            let answer = try await client.send(request(.head, "/"))
            #expect(answer.fields["Content-Length"] == "123456" && answer.isDelimited)
            #expect(try await answer.body.next() == nil)
        }
        #expect(origin.record.connections == 1)
    }

    @Test func `Redirects, challenges and coded bodies pass as they are`() async throws {
        let origin = ScriptedOrigin(replies: [
            .answer(302, ["Location": "/elsewhere"]), .answer(401, ["WWW-Authenticate": "Basic realm=x"]),
            .answer(200, ["Content-Encoding": "gzip"], "not really"), .answer(417, [:], "no"),
        ])
        let client = try client(origin)
        for status in [302, 401] { #expect(try await client.send(request(.get, "/")).status == status) }
        #expect(try await client.text(request(.get, "/")) == "not really")
        #expect(try await client.send(request(.put, "/", body: "x")).status == 417)
        #expect(origin.requests.count == 4)
    }

    @Test(
        "what is not HTTP is a bad answer",
        arguments: [
            "SSH-2.0-x\r\n\r\n", "HTTP/1.1 2x0 OK\r\n\r\n", "HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
            "HTTP/1.1 200 OK\r\nA\u{1}: b\r\n\r\n", "HTTP/1.1 200 OK\r\nA: b\rc\r\nContent-Length: 0\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", "HTTP/1.1 101 Up\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", "HTTP/1.1 200 OK\r\nA: b\0c\r\nContent-Length: 0\r\n\r\n",
        ])
    func bad(_ text: String) async throws {
        let origin = ScriptedOrigin { _ in .raw(text) + [.close] }
        let error = try await client(origin).error(request(.post, "/", body: "x"))
        #expect(error?.isBadAnswer == true, "\(String(describing: error))")
    }

    @Test(
        "a coding that was not asked for, or chunks twice, is a bad answer",
        arguments: [
            "gzip, chunked", "x, chunked", "xchunked", "chunked, gzip", "chunked, chunked", "gzip", "chunked;q=1",
            "chunked\r\nTransfer-Encoding: chunked", "chunked\r\nTransfer-Encoding: gzip", "",
        ])
    func codings(_ codings: String) async throws {
        let origin = ScriptedOrigin { _ in
            .raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: \(codings)\r\n\r\n4\r\nbody\r\n0\r\n\r\n") + [.close]
        }
        let error = try await client(origin).error(request(.get, "/"))
        #expect(error?.isBadAnswer == true, "\(String(describing: error))")
    }

    @Test func `Chunks overrule a length, which is not handed on`() async throws {
        let origin = ScriptedOrigin { _ in
            .head(200, ["Content-Length": "2", "Transfer-Encoding": "Chunked"]) + .raw("4\r\nbody\r\n0\r\n\r\n")
        }
        let answer = try await client(origin).send(request(.get, "/"))
        #expect(answer.fields.isEmpty && answer.isDelimited)
        #expect(try await answer.body.text() == "body")
    }

    @Test func `The coding identity is none, and overrules a length`() async throws {
        let origin = ScriptedOrigin { _ in
            .raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\nContent-Length: 2\r\n\r\nbody") + [.close]
        }
        let answer = try await client(origin).send(request(.get, "/"))
        #expect(answer.fields.isEmpty && !answer.isDelimited)
        #expect(try await answer.body.text() == "body")
    }

    @Test(arguments: ["\u{1}", "\u{B}", "\u{1F}", "\u{7F}"])
    func `A control byte in a value that breaks no line becomes a space`(control: String) async throws {
        let origin = ScriptedOrigin { _ in
            .raw("HTTP/1.1 200 OK\r\nA: b\(control)c\r\nTab: b\tc\r\nContent-Length: 0\r\n\r\n")
        }
        let answer = try await client(origin).send(request(.get, "/"))
        #expect(answer.fields == ["A": "b c", "Tab": "b\tc", "Content-Length": "0"])
    }

    @Test("a head without end is a bad answer", arguments: [1000, 90_000, 600_000])
    func endless(_ line: Int) async throws {
        let origin = ScriptedOrigin { _ in
            .raw("HTTP/1.1 200 OK\r\n")
                + (0..<(600_000 / line)).flatMap { _ -> [ScriptedStep] in
                    .raw("X: " + String(repeating: "y", count: line) + "\r\n")
                } + [.awaitClose]
        }
        let error = try await client(origin).error(request(.get, "/"))
        #expect(error?.isBadAnswer == true, "\(String(describing: error))")
    }

    @Test(
        "a cut body is never taken for a whole one",
        arguments: [
            "Content-Length: 10\r\n\r\nhalf", "Transfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n",
            "Transfer-Encoding: chunked\r\n\r\n8\r\nhalf", "Transfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\nzz\r\n",
        ])
    func cut(_ rest: String) async throws {
        let origin = ScriptedOrigin { _ in .raw("HTTP/1.1 200 OK\r\n" + rest) + [.close] }
        let answer = try await client(origin).send(request(.get, "/"))
        let error = await #expect(throws: OriginError.self) { try await answer.body.all() }
        #expect(error?.isCutBody == true)
    }
}
