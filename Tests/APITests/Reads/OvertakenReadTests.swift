import CacheCore
import HTTPModel
import TestSupport
import Testing

@testable import API

/// Reads that are under way while a write, here or in the queue, expires their target (RFC 9111 4.4).
@Suite("Overtaken reads", .timeLimit(.minutes(1)))
struct OvertakenReadTests {
    private let fixture = ReadFixture()
    private let latch = Latch()

    enum Kind: CaseIterable { case miss, reload, revalidation }
    enum Change: CaseIterable { case expire, expirePath, remove }

    private func committed(_ change: Change) -> StoreChange {
        switch change {
        case .expire: .expire(fixture.key("/a"))
        case .expirePath: .expirePath(.none, path: "/a")
        case .remove: .removeEntry(fixture.key("/a"))
        }
    }

    /// Starts a read whose answer comes once the latch opens; returns when the origin has been asked.
    private func start(_ kind: Kind) async throws -> RecordingExchange {
        if kind != .miss { try await fixture.know("/a", "old", ["ETag": "\"1\""], age: kind == .revalidation ? 90 : 0) }
        let (latch, now) = (latch, fixture.clock.now)
        fixture.origin.answer { (_: OriginRequest) async throws(OriginError) in
            await latch.wait()
            let fields: HTTPFields = ["Date": HTTPDate(now).text, "Cache-Control": "max-age=60", "ETag": "\"1\""]
            return kind == .revalidation
                ? OriginResponse(status: 304, fields: fields, body: PacedBody([]))
                : OriginResponse(status: 200, fields: fields, body: PacedBody([Array("old".utf8)]))
        }
        let exchange = fixture.start(
            fixture.exchange("/resources/a", kind == .reload ? ["Cache-Control": "no-cache"] : [:]))
        await eventually { fixture.origin.requests.count == 1 }
        return exchange
    }

    @Test(
        "what was asked for before its target expired is not stored as fresh", arguments: Kind.allCases, Change.allCases
    )
    func expired(kind: Kind, change: Change) async throws {
        let read = try await start(kind)
        try await fixture.store.commit([committed(change)], durable: true)
        latch.open()
        #expect(await read.answer().text == "old")
        await eventually { fixture.flights.count == 0 }
        let copies = try await fixture.store.entry(fixture.key("/a"))?.copies ?? []
        #expect(copies.allSatisfy { $0.isExpired })
    }

    @Test("it is not stored over what the write has proved", arguments: Kind.allCases, [200, 404])
    func replaced(kind: Kind, status: Int) async throws {
        let read = try await start(kind)
        try await fixture.store.commit([.expire(fixture.key("/a"))], durable: true)
        try await fixture.know("/a", "new", ["ETag": "\"2\""], status: status)
        latch.open()
        _ = await read.answer()
        await eventually { fixture.flights.count == 0 }
        let copy = try #require(try await fixture.store.entry(fixture.key("/a"))?.copies.first)
        #expect(copy.status == status && copy.etag == "\"2\"" && !copy.isExpired)
    }

    @Test("a list that is older than a write says nothing of what its members are by now", arguments: [true, false])
    func list(isOvertaken: Bool) async throws {
        fixture.settings.update { $0.collections = [CollectionRule(path: PathPattern("/items"))] }
        try await fixture.know("/items/2", "{\"id\":2}", ["ETag": "\"2\""])
        let latch = latch
        fixture.origin.answer { (_: OriginRequest) async throws(OriginError) in
            await latch.wait()
            return OriginResponse(
                status: 200, fields: ["Content-Type": "application/json", "Cache-Control": "max-age=60"],
                body: PacedBody([Array("[{\"id\":1}]".utf8)]))
        }
        let read = fixture.start(fixture.exchange("/resources/items"))
        await eventually { fixture.origin.requests.count == 1 }
        if isOvertaken { try await fixture.store.commit([.expirePath(.none, path: "/items")], durable: true) }
        latch.open()
        _ = await read.answer()
        await eventually { fixture.flights.count == 0 }
        let member = try #require(try await fixture.store.entry(fixture.key("/items/2"))?.copies.first)
        #expect(member.isExpired != isOvertaken)
        #expect((try await fixture.store.entry(fixture.key("/items/1")) == nil) == isOvertaken)
    }

    @Test("what changes another target leaves it fresh", arguments: Kind.allCases)
    func others(kind: Kind) async throws {
        let read = try await start(kind)
        try await fixture.store.commit(
            [.expire(fixture.key("/b")), .expirePath(.none, path: "/b"), .removeEntry(fixture.key("/a?b"))],
            durable: true)
        latch.open()
        _ = await read.answer()
        await eventually { fixture.flights.count == 0 }
        let copy = try #require(try await fixture.store.entry(fixture.key("/a"))?.copies.first)
        #expect(!copy.isExpired)
    }

    @Test("who asks after its target expired does not join it")
    func joined() async throws {
        let first = try await start(.miss)
        try await fixture.store.commit([.expire(fixture.key("/a"))], durable: true)
        let second = fixture.start(fixture.exchange("/resources/a"))
        await eventually { fixture.origin.requests.count == 2 }
        latch.open()
        for read in [first, second] { _ = await read.answer() }
        #expect(fixture.counters[.collapsed] == 0)
    }
}
