import API
import CacheCore
import HTTPModel
import TestSupport
import Testing

@Suite("Ranges", .timeLimit(.minutes(1)))
struct RangeReadTests {
    let fixture = ReadFixture()

    private func get(_ range: String? = nil, _ fields: HTTPFields = HTTPFields(), target: String = "/files/a") async
        -> RecordingExchange.Answer
    {
        var fields = fields
        fields["Range"] = range
        return await fixture.ask(target, fields)
    }

    @Test("concurrent ranges share one fill")
    func shared() async {
        let origin = FileOrigin(fixture, length: 2 << 20)
        let latch = Latch()
        origin.change { $0.latch = latch }
        // The first one says where the fill begins.
        var clients = [fixture.start(fixture.exchange("/files/a", ["Range": "bytes=0-200000"]))]
        await eventually { fixture.counters[.misses] >= 1 }
        clients += (1..<20).map { number in
            fixture.start(fixture.exchange("/files/a", ["Range": "bytes=\(number * 10)-200000"]))
        }
        await eventually { fixture.counters[.misses] >= 20 }
        latch.open()
        for (number, client) in clients.enumerated() {
            #expect(await client.answer().body == Array(origin.body[number * 10...200_000]))
        }
        #expect(origin.ranges.count == 1)
    }

    @Test("an answer waits for no more than its range", arguments: [true, false])
    func noLonger(knowsRanges: Bool) async {
        let origin = FileOrigin(fixture, length: 200_000)
        let latch = Latch()
        origin.change {
            $0.latch = latch
            $0.knowsRanges = knowsRanges
        }
        let answer = await get("bytes=5-9")
        #expect(answer.isWhole)
        #expect(answer.body == Array(origin.body[5..<10]))
        // One that lies far ahead of a download has its own request.
        let whole = fixture.start(fixture.exchange("/files/b"))
        await eventually { fixture.origin.requests.count >= 2 }
        _ = await get("bytes=0-9", target: "/files/b")
        #expect(origin.ranges.count == 2)
        latch.open()
        #expect(await whole.answer().body == origin.body)
    }

    @Test("R09: an origin that ignores Range is read once, and the range is exact")
    func ignored() async {
        let origin = FileOrigin(fixture, length: 1_000)
        origin.change { $0.knowsRanges = false }
        for _ in 0..<2 {
            let answer = await get("bytes=5-9")
            #expect(answer.status == 206)
            #expect(answer.length == 5)
            #expect(answer.body == Array(origin.body[5..<10]))
            #expect(answer.fields["Content-Range"] == "bytes 5-9/1000")
            // The rest of what the origin sends is on its way still.
            await fixture.settle()
        }
        #expect(await get().body == origin.body)
        #expect(origin.ranges.count == 1)
    }

    @Test("R11: a part that nobody asked for is passed on and never stored")
    func unasked() async throws {
        fixture.originSays(
            206, ["Cache-Control": "max-age=60", "ETag": "\"1\"", "Content-Range": "bytes 0-0/2"], "x")
        #expect(await get().status == 206)
        #expect(try await fixture.store.entry(fixture.key("/a")) == nil)
        #expect(fixture.origin.requests.count == 1)
    }

    @Test("R05: a stale copy that is gone at the origin has no ranges")
    func gone() async throws {
        try await fixture.know("/a", "0123456789", ["ETag": "\"1\""], age: 100)
        fixture.originSays(404)
        #expect(await get("bytes=0-4").status == 404)
    }

    @Test("H05: ranges and whole reads around the expiry show the new version")
    func expiry() async throws {
        let origin = FileOrigin(fixture, length: 1_000)
        for round in 1...4 {
            origin.change {
                $0.tag = "\"\(round)\""
                $0.body = $0.body.map { $0 &+ 1 }
            }
            fixture.clock.advance(by: 61)
            for range in round.isMultiple(of: 2) ? ["bytes=0-9", nil] : [nil, "bytes=0-9"] {
                let answer = await get(range)
                #expect(answer.body == (range == nil ? origin.body : Array(origin.body[0..<10])))
                #expect(answer.fields["ETag"] == "\"\(round)\"")
            }
        }
    }

    @Test("a range of a copy that is fetched anew is cut out as it arrives")
    func refetched() async throws {
        try await fixture.know("/a", "0123456789", ["ETag": "\"old\""], age: 100)
        let origin = FileOrigin(fixture, length: 1_000)
        let answer = await get("bytes=990-")
        #expect(answer.status == 206)
        #expect(answer.body == Array(origin.body[990...]))
        #expect(await get("bytes=0-1,5-6,3-5", ["Cache-Control": "no-cache"]).status == 206)
    }

    @Test(
        "ranges beyond the end are 416 with the length, on a miss and of a copy",
        arguments: ["bytes=1000-", "bytes=5000-6000,1000-1001", "bytes=-0"])
    func unsatisfiable(range: String) async {
        _ = FileOrigin(fixture, length: 1_000)
        for _ in 0..<2 {
            let answer = await get(range)
            #expect(answer.status == 416)
            #expect(answer.fields["Content-Range"] == "bytes */1000")
            _ = await get()
        }
    }

    @Test(
        "R07: malformed ranges, too many and other units are ignored; overlapping ones are sent once",
        arguments: [
            ("bytes=", 200), ("bytes=9-1", 200), ("bytes=a-b", 200), ("lines=0-1", 200), ("bytes=-", 200),
            ("bytes=" + String(repeating: "0-0,", count: 10_000), 200), ("bytes=0-4,2-6", 206),
            ("bytes=0-99999999999999999999", 206), ("bytes=-99999999999999999999", 206),
        ])
    func malformed(range: String, status: Int) async throws {
        try await fixture.know("/a", "0123456789")
        let answer = await get(range)
        #expect(answer.status == status)
        if range == "bytes=0-4,2-6" { #expect(answer.text == "0123456") }
    }

    @Test(
        "If-Range: a strong validator that is current, or all of it",
        arguments: [
            ("\"1\"", 206), ("W/\"1\"", 200), ("\"2\"", 200), ("Sun, 06 Nov 1994 08:49:37 GMT", 206),
            ("Sun, 06 Nov 1994 08:49:38 GMT", 200), ("soon", 200),
        ])
    func ifRange(condition: String, status: Int) async throws {
        try await fixture.know(
            "/a", "0123456789", ["ETag": "\"1\"", "Last-Modified": "Sun, 06 Nov 1994 08:49:37 GMT"])
        let answer = await get("bytes=0-0", ["If-Range": condition])
        #expect(answer.status == status)
        #expect(answer.text == (status == 206 ? "0" : "0123456789"))
    }

    @Test("an edit has ranges of its own, and the server copy beside it keeps its own")
    func edited() async throws {
        try await fixture.know("/a", "0123456789", ["ETag": "\"1\""])
        fixture.network.force(offline: true)
        let put = await fixture.ask(
            "/files/a", ["Content-Type": "text/plain"], method: .put, body: "abcdefghij")
        #expect(put.status == 202)
        let edit = await get("bytes=-3")
        #expect(edit.text == "hij")
        let tag = try #require(edit.fields["ETag"])
        #expect(await get("bytes=0-1", ["If-Range": tag]).text == "ab")
        #expect(await get("bytes=0-1", ["If-Range": "\"1\""]).text == "abcdefghij")
        #expect(await get("bytes=99-").status == 416)
        let server = await get("bytes=-3", target: "/files/a?persistentState=true")
        #expect(server.text == "789")
        #expect(server.fields["ETag"] == "\"1\"")
    }
}
