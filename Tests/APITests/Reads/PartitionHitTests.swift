import CacheCore
import HTTPModel
import TestSupport
import Testing

@testable import API

/// Hits of requests that carry credentials, and of HEAD.
@Suite struct PartitionHitTests {
    private let fixture = ReadFixture()
    private let host = ("Host", "localhost")

    /// Makes the origin answer with who asks, and asks twice as each.
    private func warm(_ field: String, _ values: [String]) async {
        fixture.origin.answer { (request: OriginRequest) throws(OriginError) in
            let text = request.fields[field] ?? "nobody"
            return OriginResponse(
                status: 200, fields: ["Cache-Control": "max-age=60"], body: PacedBody([Array(text.utf8)]))
        }
        for value in values {
            for _ in 0..<2 { _ = await fixture.ask("/resources/a", [field: value]) }
        }
    }

    @Test("each identity gets its own answer from the hot path", arguments: ["Authorization", "Cookie", "X-Api-Key"])
    func own(field: String) async {
        await warm(field, ["one", "two"])
        #expect(fixture.hot("/resources/a", [host, (field, "one")])?.hasSuffix("\r\n\r\none") == true)
        #expect(fixture.hot("/resources/a", [host, (field.uppercased(), "two")])?.hasSuffix("\r\n\r\ntwo") == true)
        for value in ["three", "on", "one ", "ones", ""] {
            #expect(fixture.hot("/resources/a", [host, (field, value)]) == nil)
        }
        #expect(fixture.hot("/resources/a") == nil)
        #expect(fixture.hot("/resources/a", [host, (field, "one"), ("Api-Key", "one")]) == nil)
    }

    @Test("a write of one identity takes away its hit alone")
    func invalidated() async throws {
        await warm("Authorization", ["one", "two"])
        let mine = try #require(await fixture.store.entries(EntryFilter(), after: nil, limit: 9).items.first?.key)
        fixture.view.invalidate(mine)
        let hits = ["one", "two"].filter { fixture.hot("/resources/a", [host, ("Authorization", $0)]) != nil }
        #expect(hits.count == 1)
    }

    @Test("where a part of the credentials names the partition the slow way judges")
    func partial() async {
        fixture.settings.update { settings in
            settings.partitionBy = [PartitionRule(path: PathPattern("**"), part: .cookies(names: ["id"]))]
        }
        await warm("Cookie", ["id=1; other=2"])
        #expect(fixture.hot("/resources/a", [host, ("Cookie", "id=1; other=2")]) == nil)
    }

    @Test("what was learnt before the settings changed counts no more")
    func reloaded() async {
        await warm("Authorization", ["one"])
        fixture.settings.update { $0.laneWait = 1 }
        #expect(fixture.hot("/resources/a", [host, ("Authorization", "one")]) == nil)
        _ = await fixture.ask("/resources/a", ["Authorization": "one"])
        #expect(fixture.hot("/resources/a", [host, ("Authorization", "one")]) != nil)
    }

    @Test("HEAD gets the head of the hit, with its length and without its body")
    func head() async throws {
        try await fixture.know("/a", "stored", ["ETag": "\"1\""])
        _ = await fixture.ask("/resources/a")
        let hit = try #require(fixture.hot("/resources/a", [host], method: "HEAD"))
        #expect(hit.hasPrefix("HTTP/1.1 200 OK\r\n"))
        #expect(hit.contains("\r\nContent-Length: 6\r\n"))
        #expect(hit.hasSuffix("\r\n\r\n"))
    }
}
