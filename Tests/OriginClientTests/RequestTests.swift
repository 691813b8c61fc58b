import CacheCore
import HTTPModel
import OriginClient
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1))) struct RequestTests {
    let origin = ScriptedOrigin { _ in .answer(200, [:], "ok") }

    @Test func `Only the given fields, Host and framing are sent`() async throws {
        let client = try client(origin)
        _ = try await client.text(request(.get, "/a", ["X-One": "1", "x-two": "", "X-One": "3"]))
        _ = try await client.text(request(.post, "/b", body: "hi"))
        let heads = origin.requests.map { String(decoding: $0.head, as: UTF8.self) }
        let host = "Host: 127.0.0.1:\(origin.port)\r\n"
        #expect(heads[0] == "GET /a HTTP/1.1\r\n\(host)X-One: 1\r\nx-two:\r\nX-One: 3\r\n\r\n")
        #expect(heads[1] == "POST /b HTTP/1.1\r\n\(host)Content-Length: 2\r\n\r\n")
        #expect(origin.requests[1].text == "hi")
    }

    @Test(
        "a target leaves byte for byte",
        arguments: [
            "/a%2Fb", "/a/./b/../c", "/?", "/a?", "/a?x=%20&y=?", "//double", "/100%", "/ä-\u{10FFE9}", "/{}|^\"<>",
            "/a;b=c,d",
        ])
    func target(_ target: String) async throws {
        let client = try client(origin, path: "/base")
        _ = try await client.text(request(.get, target))
        #expect(origin.requests[0].target.fieldBytes == Array("/base".utf8) + target.fieldBytes)
    }

    @Test("the base itself is asked for with a slash", arguments: [("", "/"), ("?a=b", "/?a=b")])
    func emptyPath(target: String, sent: String) async throws {
        _ = try await client(origin).text(request(.get, target))
        #expect(origin.requests[0].target == sent)
    }

    @Test("a target that would break the request line is not sent", arguments: ["a", "/a b", "/a\r\nX: y", "/\0"])
    func refusedTarget(_ target: String) async throws {
        #expect(try await client(origin).error(request(.get, target))?.isBadAnswer == true)
        #expect(origin.record.connections == 0)
    }

    @Test func `Bytes that are not UTF-8 pass in field values both ways`() async throws {
        let value = String(fieldBytes: [0x61, 0xE9, 0xFF])
        let origin = ScriptedOrigin { .answer(200, ["X-Back": $0.fields["X-There"] ?? ""]) }
        let answer = try await client(origin).send(request(.get, "/", ["X-There": value]))
        #expect(answer.fields["X-Back"] == value)
    }

    @Test("every method goes out as itself", arguments: ["OPTIONS", "DELETE", "PROPFIND", "get", "HEAD"])
    func method(_ name: String) async throws {
        _ = try await client(origin).text(request(HTTPMethod(rawValue: name), "/"))
        #expect(origin.requests[0].method == name)
        #expect(origin.requests[0].fields["Content-Length"] == nil)
    }

    @Test("a write without body says so", arguments: ["POST", "PUT", "PATCH"])
    func empty(_ name: String) async throws {
        _ = try await client(origin).text(request(HTTPMethod(rawValue: name), "/"))
        #expect(origin.requests[0].fields["Content-Length"] == "0")
    }

    @Test("a body of any method arrives whole", arguments: ["GET", "POST", "PUT", "DELETE"], [1, 70_000, 300_000])
    func body(_ method: String, _ size: Int) async throws {
        let bytes = (0..<size).map { UInt8(truncatingIfNeeded: $0) }
        let request = OriginRequest(method: HTTPMethod(rawValue: method), target: "/", body: .bytes(bytes))
        #expect(try await client(origin).text(request) == "ok")
        #expect(origin.requests[0].method == method)
        #expect(origin.requests[0].body == bytes)
        #expect(origin.requests[0].fields["Content-Length"] == String(size))
    }

    @Test func `A request after one of another kind has nothing of it`() async throws {
        let client = try client(origin)
        _ = try await client.text(request(.put, "/a", ["X-A": "1"], body: "body"))
        _ = try await client.text(request(.head, "/b"))
        _ = try await client.text(request(.get, "/c"))
        let last = origin.requests[2]
        #expect(last.method == "GET" && last.body.isEmpty && last.fields.map(\.name) == ["Host"])
    }

    @Test func `Connections are kept and used again`() async throws {
        let client = try client(origin)
        for _ in 0..<20 { _ = try await client.text(request(.get, "/")) }
        for _ in 0..<20 { _ = try await client.text(request(.put, "/", body: "x")) }
        #expect(origin.record.connections == 1)
    }
}
