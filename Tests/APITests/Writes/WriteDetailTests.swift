import API
import CacheCore
import HTTPModel
import TestSupport
import Testing

@Suite("Writes in detail")
struct WriteDetailTests {
    let fixture = WriteFixture()

    @Test("a 502 under queueOnStatus is queued as unknown, a 503 as pending", arguments: [502, 503])
    func queueOnStatus(status: Int) async throws {
        fixture.origin.then(status)
        let reply = try await fixture.send(.put, "/items/1", "{}") { $0.queueOnStatus = [502, 503, 504] }
        #expect(reply.status == 202)
        #expect(fixture.queue.unfinished().first?.state == (status == 502 ? .unknown : .pending))
    }

    @Test("Retry-After of an answer under queueOnStatus is waited for before the first attempt", arguments: [502, 503])
    func queueOnStatusLater(status: Int) async throws {
        fixture.origin.then(status, ["Retry-After": "30"])
        let now = fixture.clock.now
        let reply = try await fixture.send(.put, "/items/1", "{}") { $0.queueOnStatus = [502, 503, 504] }
        #expect(reply.status == 202)
        let operation = try #require(fixture.queue.unfinished().first)
        #expect(operation.nextAttemptAt == now + 30 && operation.reason == Reason.retryAfter)
        #expect(try await fixture.queue.claim(limit: 1, now: now + 29).isEmpty)
        #expect(try await fixture.queue.claim(limit: 1, now: now + 30).count == 1)
    }

    @Test("a DELETE that the origin took leaves gone")
    func deleted() async throws {
        try await fixture.know("/items/1", "{}", etag: "\"1\"")
        fixture.origin.then(204)
        _ = try await fixture.send(.delete, "/items/1")
        let entry = try await fixture.store.entry(fixture.key("/items/1"))
        #expect(entry?.copies.first?.isGone == true)
    }

    @Test("PUT under CLIENT_WINS to a target that is gone is sent once more with If-None-Match: *")
    func recreated() async throws {
        try await fixture.know("/items/1", "{}", etag: "\"1\"")
        fixture.origin.then(404)
        fixture.origin.then(201)
        let reply = try await fixture.send(.put, "/items/1", "{}") { $0.conflictResolutionPolicy = .clientWins }
        #expect(reply.status == 201)
        #expect(fixture.origin.received.last?.fields["If-None-Match"] == "*")
    }

    @Test("CLIENT_WINS gives up after three rounds and keeps the conflict; each round has its own key")
    func rounds() async throws {
        fixture.origin.then(412)
        for round in 1...3 {
            fixture.origin.then(200, ["ETag": "\"s\(round)\""], "{}")
            fixture.origin.then(412)
        }
        let reply = try await fixture.send(.put, "/items/1", "{}", fields: ["Idempotency-Key": "k"]) {
            $0.conflictResolutionPolicy = .clientWins
        }
        #expect(reply.problem?.code == .conflict)
        let keys = fixture.origin.received.filter { $0.method == .put }.map { $0.fields["Idempotency-Key"] }
        #expect(keys == ["k", "k.2", "k.3", "k.4"])
    }

    @Test("a POST that is refused is never repeated")
    func refusedPost() async throws {
        fixture.origin.then(409)
        fixture.origin.then(200, [:], "[]")
        let reply = try await fixture.send(.post, "/items", "{}") { $0.conflictResolutionPolicy = .clientWins }
        #expect(reply.status == 409)
        #expect(fixture.origin.received.filter { $0.method == .post }.count == 1)
        #expect(fixture.queue.conflict(of: fixture.key("/items"))?.kind == .refused)
    }

    @Test("a refused PATCH keeps the patched version as the client's")
    func patched() async throws {
        try await fixture.know("/items/1", "{\"a\":1,\"b\":1}", etag: "\"1\"")
        fixture.origin.then(412)
        fixture.origin.then(200, ["ETag": "\"2\"", "Content-Type": "application/json"], "{\"a\":9}")
        let reply = try await fixture.send(
            .patch, "/items/1", "{\"a\":2}", fields: ["Content-Type": "application/merge-patch+json"])
        #expect(reply.json["client"]?["body"]?.description == "{\"a\":2,\"b\":1}")
    }

    @Test("a 2xx closes the conflict of the entry")
    func closes() async throws {
        fixture.origin.then(409)
        fixture.origin.then(200, ["ETag": "\"2\"", "Content-Type": "application/json"], "{}")
        _ = try await fixture.send(.put, "/items/1", "{}")
        fixture.origin.then(204)
        let reply = try await fixture.send(.put, "/items/1", "{\"merged\":true}")
        #expect(reply.status == 204)
        #expect(fixture.queue.conflict(of: fixture.key("/items/1")) == nil)
        #expect(fixture.origin.received.last?.fields["If-Match"] == "\"2\"")
    }

    @Test("a body over maxBodySize is 413 before it is read")
    func tooLarge() async throws {
        fixture.settings.update { $0.maxBodySize = 4 }
        let reply = try await fixture.send(.put, "/items/1", "{\"v\":1}")
        #expect(reply.problem?.code == .tooLarge)
        #expect(fixture.origin.received.isEmpty)
    }

    @Test("a failed write is executed again under its key")
    func executedAgain() async throws {
        fixture.origin.then(422)
        fixture.origin.then(200)
        let fields: HTTPFields = ["Idempotency-Key": "k1"]
        #expect(try await fixture.send(.put, "/items/1", "{}", fields: fields).status == 422)
        #expect(try await fixture.send(.put, "/items/1", "{}", fields: fields).status == 200)
    }

    @Test("a write that names a pending create waits behind it")
    func namesTemporary() async throws {
        fixture.network.force(offline: true)
        let created = try await fixture.send(.post, "/items", "{}")
        let temporary = try #require(created.json["target"]?.string)
        fixture.network.force(offline: false)
        let reply = try await fixture.send(
            .put, "/orders/1", "{\"item\":\"\(temporary)\"}", fields: ["Prefer": "wait=0"])
        #expect(reply.status == 202)
        #expect(fixture.origin.received.isEmpty)
    }
}
