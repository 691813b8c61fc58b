import API
import CacheCore
import HTTPModel
import TestSupport
import Testing

@Suite("Reads that share a request", .timeLimit(.minutes(1)))
struct SharedReadTests {
    let fixture = ReadFixture()

    /// The origin answers with two pieces, the second once `latch` is open.
    private func paced(_ latch: Latch, _ fields: HTTPFields = ["Cache-Control": "max-age=60"]) {
        origin(pieces: [Array("one".utf8), Array("two".utf8)], latch, fields)
    }

    private func origin(pieces: [[UInt8]], _ latch: Latch, _ fields: HTTPFields) {
        var fields = fields
        fields["Date"] = HTTPDate(fixture.clock.now).text
        let head = fields
        fixture.origin.answer { (_: OriginRequest) throws(OriginError) in
            OriginResponse(status: 200, fields: head, body: PacedBody(pieces, latch: latch))
        }
    }

    @Test("500 concurrent misses ask the origin once")
    func singleFlight() async {
        let latch = Latch()
        paced(latch)
        let clients = (0..<500).map { _ in fixture.start(fixture.exchange("/resources/a")) }
        await eventually { fixture.counters[.misses] >= 500 }
        latch.open()
        for client in clients {
            let answer = await client.answer()
            #expect(answer.text == "onetwo")
            #expect(answer.heads == 1)
        }
        #expect(fixture.origin.requests.count == 1)
        #expect(fixture.counters[.collapsed] == 499)
    }

    @Test("a slow first client does not hold the others up")
    func slowFirst() async {
        let (latch, mayWrite) = (Latch(isOpen: true), Latch())
        origin(
            pieces: (0..<64).map { [UInt8](repeating: UInt8($0), count: 65_536) }, latch,
            ["Cache-Control": "max-age=60"])
        let slow = fixture.start(fixture.exchange("/files/a", mayWrite: mayWrite))
        await eventually { slow.soFar.heads > 0 }
        let quick = await fixture.ask("/files/a")
        #expect(quick.body.count == 64 * 65_536)
        mayWrite.open()
        let late = await slow.answer()
        #expect(late.isWhole)
        #expect(late.body == quick.body)
    }

    @Test("one who joins late reads what was stored, before the rest is there")
    func late() async {
        let latch = Latch()
        let pieces = [3 << 20, 5].map { [UInt8](repeating: 7, count: $0) }
        origin(pieces: pieces, latch, ["Cache-Control": "max-age=60"])
        let clients = [fixture.start(fixture.exchange("/files/a")), fixture.exchange("/files/a")]
        await eventually { clients[0].soFar.body.count >= pieces[0].count }
        _ = fixture.start(clients[1])
        await eventually { clients[1].soFar.body.count >= pieces[0].count }
        latch.open()
        for client in clients { #expect(await client.answer().body == pieces.flatMap { $0 }) }
        #expect(fixture.origin.requests.count == 1)
    }

    @Test("the first client leaving does not end it")
    func firstLeaves() async {
        let latch = Latch()
        paced(latch)
        let first = fixture.start(fixture.exchange("/resources/a", leavesAfter: 1))
        #expect(await first.answer().wasAborted)
        let second = fixture.start(fixture.exchange("/resources/a"))
        latch.open()
        #expect(await second.answer().text == "onetwo")
        #expect(fixture.origin.requests.count == 1)
    }

    @Test("an answer that may not be stored is not shared")
    func notShared() async {
        let latch = Latch()
        paced(latch, ["Cache-Control": "no-store"])
        let clients = (0..<5).map { _ in fixture.start(fixture.exchange("/resources/a")) }
        await eventually { fixture.origin.requests.count >= 5 }
        latch.open()
        for client in clients {
            let answer = await client.answer()
            #expect(answer.text == "onetwo")
            #expect(answer.fields["Cache-Status"]?.contains("detail=NO_STORE") == true)
        }
        #expect(fixture.counters[.collapsed] == 0)
    }

    @Test(
        "what is for the one that asked goes to that one alone and is never stored",
        arguments: ["Set-Cookie", "X-CSRF-Token", "x-xsrf-token", "X-Mine"])
    func secrets(name: String) async throws {
        fixture.settings.update { $0.secretFields = ["x-mine"] }
        let latch = Latch()
        paced(latch, ["Cache-Control": "max-age=60", name: "a=b"])
        let clients = (0..<3).map { _ in fixture.start(fixture.exchange("/resources/a")) }
        await eventually { fixture.counters[.collapsed] >= 2 }
        latch.open()
        var secrets = 0
        for client in clients where await client.answer().fields.contains(name) { secrets += 1 }
        #expect(secrets <= 1)
        let entry = try await fixture.store.entry(fixture.key("/a"))
        #expect(entry?.copies.first?.fields.contains(name) == false)
    }

    @Test("a cut transfer is broken off and never stored")
    func cut() async throws {
        fixture.origin.answer { (_: OriginRequest) throws(OriginError) in
            OriginResponse(
                status: 200, fields: ["Cache-Control": "max-age=60", "Content-Length": "9"],
                body: PacedBody([Array("part".utf8)], isCut: true))
        }
        let answer = await fixture.ask("/resources/a")
        #expect(answer.wasAborted)
        #expect(!answer.isWhole)
        #expect(answer.heads == 1)
        #expect(try await fixture.store.entry(fixture.key("/a"))?.copies.isEmpty != false)
    }
}
