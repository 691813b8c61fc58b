import API
import CacheCore
import HTTPModel
import TestSupport
import Testing

@Suite("Turns of one resource")
struct TurnTests {
    let fixture = WriteFixture()
    let latch = Latch()

    /// Returns when the first write is at the origin.
    private func untilSent() async {
        await eventually { latch.waiterCount > 0 }
    }

    @Test("the next online write starts from what the one before it left")
    func inOrder() async throws {
        try await fixture.know("/items/1", "{}", etag: "\"1\"")
        fixture.origin.thenHold(latch, 204, ["ETag": "\"2\""])
        fixture.origin.then(204, ["ETag": "\"3\""])
        async let first = fixture.send(.put, "/items/1", "{\"v\":1}")
        await untilSent()
        async let second = fixture.send(.put, "/items/1", "{\"v\":2}")
        await eventually { fixture.clock.sleeperCount > 0 }
        #expect(fixture.origin.received.count == 1)
        latch.open()
        #expect(try await first.status == 204)
        #expect(try await second.status == 204)
        #expect(fixture.origin.received.map { $0.fields["If-Match"] } == ["\"1\"", "\"2\""])
    }

    @Test("a write that comes offline starts from what the one under way left")
    func offlineBehindOnline() async throws {
        try await fixture.know("/items/1", "{}", etag: "\"1\"")
        fixture.origin.thenHold(latch, 204, ["ETag": "\"2\""])
        async let first = fixture.send(.put, "/items/1", "{\"v\":1}")
        await untilSent()
        fixture.network.force(offline: true)
        async let second = fixture.send(.put, "/items/1", "{\"v\":2}")
        await eventually { fixture.clock.sleeperCount > 0 }
        #expect(fixture.queue.unfinished().isEmpty)
        latch.open()
        #expect(try await first.status == 204)
        #expect(try await second.status == 202)
        #expect(fixture.queue.unfinished().first?.precondition == .ifMatch("\"2\""))
    }

    @Test("what can't wait is queued, and is not sent before the one under way has ended")
    func queuedBehindOnline() async throws {
        fixture.origin.thenHold(latch, 204, ["ETag": "\"2\""])
        async let first = fixture.send(.put, "/items/1", "{\"v\":1}")
        await untilSent()
        let second = try await fixture.send(.put, "/items/1", "{\"v\":2}", fields: ["Prefer": "wait=0"])
        #expect(second.status == 202)
        let now = fixture.clock.now
        #expect(try await fixture.queue.claim(limit: 8, now: now).isEmpty)
        #expect(fixture.queue.nextDue(now: now) == nil)
        latch.open()
        #expect(try await first.status == 204)
        #expect(try await fixture.queue.claim(limit: 8, now: now).count == 1)
    }

    @Test("what may be neither queued nor wait is refused and never sent")
    func refusedBehindOnline() async throws {
        fixture.origin.thenHold(latch, 204)
        async let first = fixture.send(.put, "/items/1", "{\"v\":1}")
        await untilSent()
        let second = try await fixture.send(.put, "/items/1", "{\"v\":2}", fields: ["Prefer": "wait=0"]) {
            $0.updatePolicy = .updateIfOnline
        }
        #expect(second.problem?.code == .offlineUpdateRejected)
        latch.open()
        _ = try await first
        #expect(fixture.origin.received.count == 1)
    }

    @Test("new members of one collection do not wait for each other")
    func creates() async throws {
        fixture.origin.thenHold(latch, 201, ["Location": "/items/1"])
        fixture.origin.then(201, ["Location": "/items/2"])
        async let first = fixture.send(.post, "/items", "{\"v\":1}")
        await untilSent()
        #expect(try await fixture.send(.post, "/items", "{\"v\":2}").status == 201)
        latch.open()
        #expect(try await first.status == 201)
    }

    @Test("of 16 writes at once with the same If-Match exactly one is taken", arguments: [false, true])
    func oneOfMany(isOffline: Bool) async throws {
        try await fixture.know("/items/1", "{}", etag: "\"1\"")
        fixture.origin.then(204, ["ETag": "\"2\""])
        for _ in 1..<16 { fixture.origin.then(412) }
        if isOffline { fixture.network.force(offline: true) }
        let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
            for number in 0..<16 {
                group.addTask {
                    let fields: HTTPFields = ["If-Match": "\"1\""]
                    return try await fixture.send(.put, "/items/1", "{\"v\":\(number)}", fields: fields).status
                }
            }
            return try await group.reduce(into: [Int]()) { $0.append($1) }
        }
        #expect(statuses.count { (200..<300).contains($0) } == 1)
        #expect(statuses.count { $0 == 412 } == 15)
    }
}
