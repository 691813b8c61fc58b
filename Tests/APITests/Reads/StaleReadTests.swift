import API
import CacheCore
import HTTPModel
import TestSupport
import Testing

@Suite("Stale reads", .timeLimit(.minutes(1)))
struct StaleReadTests {
    let fixture = ReadFixture()

    private func knowStale() async throws {
        try await fixture.know("/a", "stored", ["ETag": "\"1\""], age: 100)
    }

    @Test("an unreachable origin is answered for from the store")
    func unreachable() async throws {
        try await knowStale()
        fixture.originFails(.unreachable(reason: "refused", isTLS: false))
        let answer = await fixture.ask("/resources/a")
        #expect(answer.text == "stored")
        #expect(answer.fields["Cache-Status"]?.contains("detail=") == true)
        #expect(answer.fields["Age"] == "100")
        #expect(fixture.network.state == .offline)
    }

    @Test("a stored answer stands in for any 5xx", arguments: [500, 501, 502, 503, 504, 520])
    func serverError(status: Int) async throws {
        try await knowStale()
        fixture.originSays(status, [:], "broken")
        let answer = await fixture.ask("/resources/a")
        #expect(answer.text == "stored")
        #expect(answer.fields["Cache-Status"]?.contains("detail=STALE") == true)
        #expect(try await fixture.store.entry(fixture.key("/a"))?.copies.first?.status == 200)
    }

    @Test("an origin that says nothing for staleTimeout is answered for, and its answer is kept when it comes")
    func slow() async throws {
        try await knowStale()
        let latch = Latch()
        let date = HTTPDate(fixture.clock.now).text
        fixture.origin.answer { (_: OriginRequest) throws(OriginError) in
            await latch.wait()
            return OriginResponse(
                status: 200, fields: ["Cache-Control": "max-age=60", "Date": date, "ETag": "\"2\""],
                body: PacedBody([Array("new".utf8)]))
        }
        let exchange = fixture.start(fixture.exchange("/resources/a"))
        await eventually { fixture.clock.sleeperCount > 0 }
        fixture.clock.advance(by: 3)
        let answer = await exchange.answer()
        #expect(answer.text == "stored")
        #expect(answer.fields["Cache-Status"]?.contains("detail=STALE") == true)
        latch.open()
        try await eventually { try await fixture.store.entry(fixture.key("/a"))?.copies.first?.etag == "\"2\"" }
    }

    @Test(
        "without a copy a failure is a problem",
        arguments: [
            (OriginError.unreachable(reason: "refused", isTLS: false), 504), (.timeout(reason: "slow"), 504),
            (.badAnswer(reason: "not HTTP"), 502), (.noAnswer(reason: "closed"), 502),
        ])
    func nothingStored(error: OriginError, status: Int) async {
        fixture.originFails(error)
        let answer = await fixture.ask("/resources/a")
        #expect(answer.status == status)
        #expect(answer.fields["Content-Type"] == "application/problem+json")
        #expect(answer.text.contains("\"instance\""))
    }

    @Test("HONOUR_ORIGIN answers 504 and not what must be revalidated")
    func honourOrigin() async throws {
        try await fixture.know("/a", "stored", ["Cache-Control": "max-age=60, must-revalidate"], age: 100)
        fixture.originFails(.unreachable(reason: "refused", isTLS: false))
        let answer = await fixture.ask("/resources/a", ["Sync-Policy": "offline-reads=HONOUR_ORIGIN"])
        #expect(answer.status == 504)
    }

    @Test("304 renews the stored answer")
    func renewal() async throws {
        try await knowStale()
        fixture.originSays(304, ["ETag": "\"1\"", "Cache-Control": "max-age=90"])
        let answer = await fixture.ask("/resources/a")
        #expect(answer.status == 200)
        #expect(answer.text == "stored")
        #expect(answer.fields["Cache-Status"] == "Holdfast; fwd=stale; fwd-status=304")
        #expect(fixture.origin.requests.first?.fields["If-None-Match"] == "\"1\"")
        let again = await fixture.ask("/resources/a")
        #expect(again.text == "stored")
        #expect(again.fields["Cache-Status"] == "Holdfast; hit; ttl=90")
        #expect(fixture.origin.requests.count == 1)
    }

    @Test("401, 403 and 429 are passed on and leave the copy", arguments: [401, 403, 408, 421, 425, 429])
    func kept(status: Int) async throws {
        try await knowStale()
        fixture.originSays(status, [:], "no")
        #expect(await fixture.ask("/resources/a").status == status)
        let copy = try await fixture.store.entry(fixture.key("/a"))?.copies.first
        #expect(copy?.status == 200)
        #expect(copy?.isExpired == false)
    }
}
