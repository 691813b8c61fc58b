import API
import CacheCore
import HTTPModel
import TestSupport
import Testing

@Suite("Errors that are given again", .timeLimit(.minutes(1)))
struct ErrorReadTests {
    let fixture = ReadFixture()

    private func originFails() {
        fixture.originSays(503, ["Cache-Control": "max-age=60", "Content-Length": "6"], "broken")
    }

    @Test("A fresh error is not asked for again, and is no server copy")
    func again() async throws {
        originFails()
        #expect(await fixture.ask("/resources/a").status == 503)
        fixture.clock.advance(by: 5)
        let again = await fixture.ask("/resources/a")
        #expect(again.status == 503 && again.text == "broken" && again.fields["Age"] == "5")
        #expect(fixture.origin.requests.count == 1)
        #expect(try await fixture.store.entry(fixture.key("/a"))?.copies.isEmpty != false)
        fixture.clock.advance(by: 60)
        _ = await fixture.ask("/resources/a")
        #expect(fixture.origin.requests.count == 2)
    }

    @Test("RFC 9111 4.4: a write ends it")
    func written() async {
        originFails()
        _ = await fixture.ask("/resources/a")
        fixture.originSays(204)
        _ = await fixture.ask("/resources/a", ["Content-Type": "text/plain"], method: .put, body: "new")
        fixture.originSays(200, ["Content-Length": "3"], "new")
        #expect(await fixture.ask("/resources/a").text == "new")
    }

    @Test("It takes no stored answer's place, and without the origin it is no answer")
    func beside() async throws {
        try await fixture.know("/a", "stored", age: 100)
        originFails()
        for _ in 0..<2 { #expect(await fixture.ask("/resources/a").text == "stored") }
        _ = await fixture.ask("/resources/b")
        fixture.network.force(offline: true)
        #expect(await fixture.ask("/resources/a").text == "stored")
        #expect(await fixture.ask("/resources/b").status == 504)
    }
}
