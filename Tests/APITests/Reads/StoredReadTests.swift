import API
import CacheCore
import HTTPModel
import TestSupport
import Testing

@Suite("Reads from the store", .timeLimit(.minutes(1)))
struct StoredReadTests {
    let fixture = ReadFixture()

    @Test("HEAD has the head of GET without its body")
    func head() async throws {
        try await fixture.know("/a", "stored", ["ETag": "\"1\""])
        let answer = await fixture.ask("/resources/a", method: .head)
        #expect(answer.status == 200)
        #expect(answer.fields["Content-Length"] == "6")
        #expect(answer.body.isEmpty)
        #expect(fixture.origin.requests.isEmpty)
    }

    @Test("HEAD on a miss asks with HEAD and stores nothing")
    func headMiss() async throws {
        fixture.originSays(200, ["Content-Length": "9", "Cache-Control": "max-age=60"])
        let answer = await fixture.ask("/resources/a", method: .head)
        #expect(answer.fields["Content-Length"] == "9")
        #expect(fixture.origin.requests.first?.method == .head)
        #expect(try await fixture.store.entry(fixture.key("/a"))?.copies.isEmpty != false)
    }

    @Test(
        "one range",
        arguments: [
            ("bytes=0-3", "0123", "bytes 0-3/10"), ("bytes=-2", "89", "bytes 8-9/10"),
            ("bytes=7-", "789", "bytes 7-9/10"),
        ])
    func range(range: String, text: String, contentRange: String) async throws {
        try await fixture.know("/a", "0123456789", ["ETag": "\"1\""])
        let answer = await fixture.ask("/files/a", ["Range": range])
        #expect(answer.status == 206)
        #expect(answer.text == text)
        #expect(answer.fields["Content-Range"] == contentRange)
    }

    @Test("several ranges are multipart/byteranges of the declared length")
    func multipart() async throws {
        let body = String(repeating: "0123456789", count: 100)
        try await fixture.know("/a", body, ["Content-Type": "text/plain"])
        let answer = await fixture.ask("/files/a", ["Range": "bytes=0-1,990-991"])
        #expect(answer.status == 206)
        let type = try #require(answer.fields["Content-Type"])
        #expect(type.hasPrefix("multipart/byteranges; boundary="))
        #expect(answer.text.contains("Content-Range: bytes 0-1/1000\r\n\r\n01\r\n"))
        #expect(answer.text.contains("Content-Range: bytes 990-991/1000\r\n\r\n01\r\n"))
        #expect(answer.length == Int64(answer.body.count))
    }

    @Test("a range past the end is 416 with the length")
    func unsatisfiable() async throws {
        try await fixture.know("/a", "0123456789")
        let answer = await fixture.ask("/files/a", ["Range": "bytes=10-"])
        #expect(answer.status == 416)
        #expect(answer.fields["Content-Range"] == "bytes */10")
    }

    @Test("If-Range with another tag gets the whole")
    func ifRange() async throws {
        try await fixture.know("/a", "0123456789", ["ETag": "\"1\""])
        #expect(await fixture.ask("/files/a", ["Range": "bytes=0-1", "If-Range": "\"1\""]).status == 206)
        #expect(await fixture.ask("/files/a", ["Range": "bytes=0-1", "If-Range": "\"0\""]).status == 200)
        #expect(await fixture.ask("/files/a", ["Range": "bytes=0-1", "If-Range": "W/\"1\""]).status == 200)
    }

    @Test("a variant answers only requests that select it")
    func vary() async {
        fixture.origin.answer { (request: OriginRequest) throws(OriginError) in
            OriginResponse(
                status: 200,
                fields: [
                    "Cache-Control": "max-age=60", "Vary": "Accept-Language", "Date": "Tue, 14 Nov 2023 22:13:20 GMT",
                ], body: PacedBody([Array((request.fields["Accept-Language"] ?? "none").utf8)]))
        }
        #expect(await fixture.ask("/resources/a", ["Accept-Language": "de"]).text == "de")
        #expect(await fixture.ask("/resources/a", ["Accept-Language": "fr"]).text == "fr")
        #expect(await fixture.ask("/resources/a", ["Accept-Language": "de"]).text == "de")
        #expect(fixture.origin.requests.count == 2)
    }

    @Test("identities never see one another's answers", arguments: ["Authorization", "Cookie", "X-Api-Key"])
    func partitions(field: String) async {
        fixture.origin.answer { (request: OriginRequest) throws(OriginError) in
            OriginResponse(
                status: 200, fields: ["Cache-Control": "max-age=60", "Date": "Tue, 14 Nov 2023 22:13:20 GMT"],
                body: PacedBody([Array((request.fields[field] ?? "nobody").utf8)]))
        }
        for _ in 0..<2 {
            for who in ["a=1", "b=2"] {
                var fields = HTTPFields()
                fields[field] = who
                #expect(await fixture.ask("/resources/a", fields).text == who)
            }
            #expect(await fixture.ask("/resources/a").text == "nobody")
        }
        #expect(fixture.origin.requests.count == 3)
    }

    @Test("links under the origin become ours, others stay")
    func links() async {
        fixture.originSays(
            201,
            [
                "Location": "http://origin.test/items/1", "Content-Location": "/items/1",
                "Link": "<http://origin.test/p?2>; rel=next, <http://else.test/>; rel=x", "Next-Page": "/p?3",
            ])
        let answer = await fixture.ask("/resources/items")
        #expect(answer.fields["Location"] == "/resources/items/1")
        #expect(answer.fields["Content-Location"] == "/resources/items/1")
        #expect(answer.fields["Link"] == "</resources/p?2>; rel=next, <http://else.test/>; rel=x")
        #expect(answer.fields["Next-Page"] == "/resources/p?3")
    }

    @Test(
        "browsers are told not to guess, and active content is sandboxed",
        arguments: [
            ("text/html; charset=utf-8", true), ("image/svg+xml", true), ("application/xml", true),
            ("text/plain", false),
            ("application/json", false),
        ])
    func hardened(type: String, isActive: Bool) async {
        fixture.originSays(200, ["Content-Type": type], "x")
        let answer = await fixture.ask("/files/a")
        #expect(answer.fields["X-Content-Type-Options"] == "nosniff")
        #expect(answer.fields.values("Content-Security-Policy").contains("sandbox") == isActive)
    }

    @Test("Cache-Status tells of the miss, the store, and the hit")
    func cacheStatus() async {
        fixture.originSays(200, ["Cache-Control": "max-age=60", "Cache-Status": "up; hit"], "x")
        let miss = await fixture.ask("/resources/a")
        #expect(miss.fields["Cache-Status"] == "up; hit, Holdfast; fwd=uri-miss; fwd-status=200; stored")
        let hit = await fixture.ask("/resources/a")
        #expect(hit.fields["Cache-Status"] == "up; hit, Holdfast; hit; ttl=60")
        #expect(hit.fields["Sync-State"] == "synced")
    }

    @Test("what the store can't hold is answered all the same", arguments: [StoreError.full, .failed(reason: "disk")])
    func fullStore(error: StoreError) async {
        fixture.originSays(200, ["Cache-Control": "max-age=60"], "x")
        fixture.store.failure = error
        #expect(await fixture.ask("/resources/a").text == "x")
    }

    @Test("noCache stores nothing and uses nothing")
    func noCache() async throws {
        fixture.originSays(200, ["Cache-Control": "max-age=60"], "x")
        for _ in 0..<2 {
            let answer = await fixture.ask("/resources/a", ["Sync-Policy": "no-cache"])
            #expect(answer.fields["Cache-Status"]?.contains("detail=NO_CACHE") == true)
        }
        #expect(fixture.origin.requests.count == 2)
        #expect(try await fixture.store.entry(fixture.key("/a"))?.copies.isEmpty != false)
    }

    @Test(
        "a lifetime or an age beyond all bounds is stated as the longest there is",
        arguments: ["9223372036854775807", "1000000000000"])
    func endless(expireAfter: String) async throws {
        try await fixture.know("/a", "x")
        let policy = "expiration-policy=EXPIRE_AFTER, expire-after=\"\(expireAfter)\""
        let answer = await fixture.ask("/resources/a", ["Sync-Policy": policy])
        #expect(answer.fields["Cache-Status"]?.contains("ttl=1000000000000") == true)
        try await fixture.know("/b", "x")
        let known = try await fixture.store.entry(fixture.key("/b"))
        var copy = try #require(known?.copies.first)
        copy.responseTime = -1e300
        try await fixture.store.commit([.putCopy(fixture.key("/b"), copy)], durable: true)
        fixture.network.force(offline: true)
        #expect(await fixture.ask("/resources/b").fields["Age"] == "1000000000000")
    }

    @Test("a part without a strong validator is never stored; a whole answer to a range request is")
    func rangeMiss() async throws {
        fixture.originSays(206, ["Cache-Control": "max-age=60", "Content-Range": "bytes 0-0/2"], "x")
        #expect(await fixture.ask("/files/a", ["Range": "bytes=0-0"]).status == 206)
        #expect(fixture.origin.requests.first?.fields["Range"] == "bytes=0-262143")
        #expect(try await fixture.store.entry(fixture.key("/a"))?.copies.isEmpty != false)
        fixture.originSays(200, ["Cache-Control": "max-age=60"], "xy")
        #expect(await fixture.ask("/files/a", ["Range": "bytes=0-0"]).text == "xy")
        let part = await fixture.ask("/files/a", ["Range": "bytes=0-0"])
        #expect(part.status == 206)
        #expect(part.text == "x")
        #expect(fixture.origin.requests.count == 2)
    }

    @Test(
        "a refresh in the background changes the server copy",
        arguments: [
            "FETCH_FROM_CACHE_SCHEDULE_REFRESH", "FETCH_WITH_REFRESH",
        ])
    func refresh(policy: String) async throws {
        try await fixture.know("/a", "old")
        fixture.originSays(200, ["Cache-Control": "max-age=60", "ETag": "\"new\""], "new")
        #expect(await fixture.ask("/resources/a", ["Sync-Policy": "fetch-policy=\(policy)"]).text == "old")
        try await eventually { try await fixture.store.entry(fixture.key("/a"))?.copies.first?.etag == "\"new\"" }
        #expect(await fixture.ask("/resources/a").text == "new")
    }

    @Test("a body that can't be read is fetched again, and is a problem offline", arguments: [true, false])
    func unreadable(isOnline: Bool) async throws {
        try await fixture.know("/a", "old")
        let copy = try #require(try await fixture.store.entry(fixture.key("/a"))?.copies.first)
        var broken = copy
        broken.content = Content(digest: Digest(bytes: [UInt8](repeating: 9, count: 32)), length: 3, inline: nil)
        try await fixture.store.commit([.putCopy(fixture.key("/a"), broken)], durable: true)
        fixture.originSays(200, ["Cache-Control": "max-age=60"], "new")
        fixture.network.force(offline: !isOnline)
        let answer = await fixture.ask("/files/a")
        #expect(answer.heads == 1)
        #expect(isOnline ? answer.text == "new" : answer.status >= 500)
    }
}
