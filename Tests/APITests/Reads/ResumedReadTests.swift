import API
import CacheCore
import HTTPModel
import TestSupport
import Testing

@Suite("Downloads that are cut", .timeLimit(.minutes(1)))
struct ResumedReadTests {
    let fixture = ReadFixture()
    private static let length = 2 << 20

    private func file(_ change: (inout FileOrigin.State) -> Void) -> FileOrigin {
        let origin = FileOrigin(fixture, length: Self.length)
        origin.change {
            $0.saysRanges = true
            change(&$0)
        }
        return origin
    }

    @Test("clients that share a download see no break where the origin lets it go on")
    func shared() async throws {
        let latch = Latch()
        let origin = file {
            $0.cutAfter = 700_000
            $0.cuts = 1
            $0.latch = latch
        }
        let clients = (0..<3).map { _ in fixture.start(fixture.exchange("/files/a")) }
        await eventually { fixture.counters[.misses] >= 3 }
        latch.open()
        for client in clients {
            let answer = await client.answer()
            #expect(answer.isWhole && answer.status == 200)
            #expect(answer.body == origin.body)
        }
        #expect(origin.ranges == ["", "bytes=700000-"])
        #expect(origin.lastRequest["If-Range"] == "\"1\"")
        #expect(origin.sent == Self.length)
        let entry = try #require(try await fixture.store.entry(fixture.key("/a")))
        #expect(entry.copies.first?.content.length == Int64(Self.length) && entry.parts.isEmpty)
    }

    @Test("so does what is not kept, and a part")
    func others() async {
        let origin = file {
            $0.cacheControl = "no-store"
            $0.cutAfter = 1_000
            $0.cuts = 1
        }
        #expect(await fixture.ask("/files/a").body == origin.body)
        #expect(origin.ranges == ["", "bytes=1000-"])
        origin.change {
            $0.cacheControl = "max-age=60"
            $0.cuts = 1
        }
        let part = await fixture.ask("/files/b", ["Range": "bytes=0-9999"])
        #expect(part.status == 206)
        #expect(part.body == Array(origin.body[0..<10_000]))
        #expect(origin.ranges.suffix(2) == ["bytes=0-262143", "bytes=1000-262143"])
    }

    @Test("another version is not put behind the first half of one")
    func changed() async throws {
        let latch = Latch()
        let origin = file {
            $0.cutAfter = 700_000
            $0.latch = latch
        }
        let client = fixture.start(fixture.exchange("/files/a"))
        await eventually { !client.soFar.body.isEmpty }
        origin.change {
            $0.tag = "\"2\""
            $0.cuts = 0
        }
        latch.open()
        #expect(await client.answer().wasAborted)
        #expect(origin.ranges == ["", "bytes=700000-"])
        #expect(await fixture.ask("/files/a").fields["ETag"] == "\"2\"")
    }

    private static let falseRests: [(tag: String, contentRange: String?)] = [
        ("\"2\"", nil), ("W/\"1\"", nil), ("\"1\"", "bytes 700000-2097151/2097153"),
        ("\"1\"", "bytes 700000-2097151/*"), ("\"1\"", "bytes 699999-2097150/2097152"),
    ]

    @Test("a part of another version, another length or another place is not taken for the rest", arguments: falseRests)
    func otherRest(tag: String, contentRange: String?) async {
        let latch = Latch()
        let origin = file {
            $0.cutAfter = 700_000
            $0.latch = latch
            $0.heedsIfRange = false
        }
        let client = fixture.start(fixture.exchange("/files/a"))
        await eventually { !client.soFar.body.isEmpty }
        origin.change {
            $0.tag = tag
            $0.contentRange = contentRange
            $0.cuts = 0
        }
        latch.open()
        let answer = await client.answer()
        #expect(answer.wasAborted && answer.body.count == 700_000)
        #expect(origin.ranges == ["", "bytes=700000-"])
    }

    @Test("a transfer that never comes far is given up after five tries, and its beginning is kept")
    func hopeless() async throws {
        let origin = file { $0.cutAfter = 10 }
        let client = fixture.start(fixture.exchange("/files/a"))
        await eventually {
            fixture.clock.advance(by: 1)
            return client.soFar.wasAborted
        }
        #expect(origin.ranges.count == 6)
        try await fixture.settle("/a") { $0.parts.first?.heldLength == 60 }
    }

    @Test("an origin that is out of reach for a moment is asked again")
    func unreachable() async throws {
        let origin = file {
            $0.cutAfter = 10
            $0.cuts = 1
        }
        let rule = try #require(fixture.origin.rule)
        fixture.origin.answer { [unowned port = fixture.origin] (request: OriginRequest) throws(OriginError) in
            if port.requests.count == 2 { throw .noAnswer(reason: "reset") }
            if port.requests.count == 3 { return OriginResponse(status: 503, fields: [:], body: PacedBody([])) }
            return try await rule(request)
        }
        let client = fixture.start(fixture.exchange("/files/a"))
        await eventually {
            fixture.clock.advance(by: 1)
            return client.soFar.isWhole
        }
        #expect(client.soFar.body == origin.body)
        #expect(origin.ranges == ["", "bytes=10-", "bytes=10-", "bytes=10-"])
    }

    @Test("without a strong validator it is broken off", arguments: [nil, "W/\"1\""])
    func weak(tag: String?) async {
        let origin = file {
            $0.tag = tag
            $0.cutAfter = 10
        }
        #expect(await fixture.ask("/files/a").wasAborted)
        #expect(origin.ranges == [""])
    }
}
