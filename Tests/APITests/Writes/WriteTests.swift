import API
import CacheCore
import HTTPModel
import TestSupport
import Testing

@Suite("Writes")
struct WriteTests {
    let fixture = WriteFixture()

    // Online (design 4)

    @Test("a 2xx of the origin is passed on and its representation becomes the server copy")
    func success() async throws {
        fixture.origin.then(200, ["ETag": "\"2\"", "Content-Type": "application/json"], "{\"id\":1,\"v\":2}")
        try await fixture.know("/items/1", "{\"id\":1,\"v\":1}", etag: "\"1\"")
        let reply = try await fixture.send(.put, "/items/1", "{\"id\":1,\"v\":2}")
        #expect(reply.status == 200)
        #expect(reply.json["v"]?.int == 2)
        let entry = try await fixture.store.entry(fixture.key("/items/1"))
        #expect(entry?.copies.first?.etag == "\"2\"")
    }

    @Test(
        "an answer that does not show what was sent is no representation, whatever its tag",
        arguments: [
            (HTTPMethod.put, "application/json", #"{"v":2}"#, #"{"ok":true}"#, false),
            (.put, "application/json", #"{"v":2}"#, #"{"v":2,"revision":7}"#, true),
            (.patch, "application/merge-patch+json", #"{"v":2}"#, #"{"ok":true}"#, false),
            (.patch, "application/merge-patch+json", #"{"v":2}"#, #"{"id":1,"v":2}"#, true),
            (.put, "application/json", #"[1]"#, #"[2]"#, false),
        ])
    func echo(method: HTTPMethod, type: String, sent: String, answer: String, isKept: Bool) async throws {
        fixture.origin.then(200, ["ETag": "\"2\"", "Content-Type": "application/json"], answer)
        try await fixture.know("/items/1", #"{"id":1,"v":1}"#, etag: "\"1\"")
        _ = try await fixture.send(method, "/items/1", sent, fields: ["Content-Type": type])
        let copy = try await fixture.store.entry(fixture.key("/items/1"))?.copies.first
        #expect(isKept ? copy?.etag == "\"2\"" : copy?.isExpired == true)
    }

    @Test("a part that the origin took is not taken for the whole")
    func part() async throws {
        fixture.origin.then(204, ["ETag": "\"2\"", "Cache-Control": "max-age=60"])
        try await fixture.know("/items/1", "{}", etag: "\"1\"")
        _ = try await fixture.send(.put, "/items/1", "{", fields: ["Content-Range": "bytes 0-0/2"])
        let copies = try await fixture.store.entry(fixture.key("/items/1"))?.copies ?? []
        #expect(copies.map(\.content.length) == [2] && copies.allSatisfy(\.isExpired))
    }

    @Test("a write without precondition is guarded by the server copy's strong tag")
    func guarded() async throws {
        fixture.origin.then(204)
        try await fixture.know("/items/1", "{}", etag: "\"1\"")
        _ = try await fixture.send(.put, "/items/1", "{}")
        #expect(fixture.origin.received.first?.fields["If-Match"] == "\"1\"")
    }

    @Test("CLIENT_WINS and guard=false send no guard", arguments: [true, false])
    func unguarded(clientWins: Bool) async throws {
        fixture.origin.then(204)
        try await fixture.know("/items/1", "{}", etag: "\"1\"")
        _ = try await fixture.send(.put, "/items/1", "{}") {
            if clientWins { $0.conflictResolutionPolicy = .clientWins } else { $0.guardsWrites = false }
        }
        #expect(fixture.origin.received.first?.fields.contains("If-Match") == false)
    }

    @Test("an error of the origin is passed on and nothing is queued")
    func passedOn() async throws {
        fixture.origin.then(422, ["X-Reason": "no"], "bad")
        let reply = try await fixture.send(.put, "/items/1", "{}")
        #expect(reply.status == 422)
        #expect(reply.fields["X-Reason"] == "no")
        #expect(fixture.queue.unfinished().isEmpty)
    }

    @Test("a write that got no answer is 504 outcome-unknown and not queued")
    func unknown() async throws {
        fixture.origin.thenFail(.noAnswer(reason: "reset"))
        let reply = try await fixture.send(.put, "/items/1", "{}")
        #expect(reply.problem?.code == .outcomeUnknown)
        #expect(fixture.queue.unfinished().isEmpty)
    }

    @Test("a write whose connection could not be made is queued")
    func unreachable() async throws {
        fixture.origin.thenFail(.unreachable(reason: "refused", isTLS: false))
        let reply = try await fixture.send(.put, "/items/1", "{}")
        #expect(reply.status == 202)
        #expect(!fixture.network.state.isOnline)
    }

    @Test("the client's own precondition that fails is passed on as it is")
    func ownPrecondition() async throws {
        fixture.origin.then(412, [:], "stale")
        let reply = try await fixture.send(.put, "/items/1", "{}", fields: ["If-Match": "\"9\""])
        #expect(reply.status == 412)
        #expect(reply.problem == nil)
        #expect(fixture.queue.conflict(of: fixture.key("/items/1")) == nil)
    }

    @Test("an unknown tag of Holdfast's own is 412 and never reaches the origin")
    func unknownOwnTag() async throws {
        let reply = try await fixture.send(.put, "/items/1", "{}", fields: ["If-Match": "\"hf-unknown\""])
        #expect(reply.problem?.code == .precondition)
        #expect(fixture.origin.received.isEmpty)
    }

    @Test("other methods are passed on online")
    func otherOnline() async throws {
        fixture.origin.then(207, [:], "<x/>")
        let reply = try await fixture.send(HTTPMethod(rawValue: "PROPFIND"), "/items/1")
        #expect(reply.status == 207)
    }

    // Conflicts (design 6)

    @Test("PRESERVE_CONFLICT answers the origin's status with links and keeps all versions")
    func preserved() async throws {
        try await fixture.know("/items/1", "{\"v\":1}", etag: "\"1\"")
        fixture.origin.then(412)
        fixture.origin.then(200, ["ETag": "\"3\"", "Content-Type": "application/json"], "{\"v\":3}")
        let reply = try await fixture.send(.put, "/items/1", "{\"v\":2}")
        #expect(reply.status == 412)
        #expect(reply.problem?.code == .conflict)
        #expect(reply.json["server"]?["body"]?["v"]?.int == 3)
        #expect(reply.json["client"]?["body"]?["v"]?.int == 2)
        #expect(reply.json["origin"]?["status"]?.int == 412)
        let conflict = fixture.queue.conflict(of: fixture.key("/items/1"))
        #expect(conflict != nil)
        #expect(reply.json["links"]?["conflict"]?.string == conflict.map { "/cache/conflicts/" + $0.id })
        let entry = try await fixture.store.entry(fixture.key("/items/1"))
        #expect(entry?.copies.first?.etag == "\"3\"")
    }

    @Test("CLIENT_WINS repeats with the tag of a fresh GET")
    func clientWins() async throws {
        fixture.origin.then(409)
        fixture.origin.then(200, ["ETag": "\"3\""], "{}")
        fixture.origin.then(200, [:], "done")
        let reply = try await fixture.send(.put, "/items/1", "{}") { $0.conflictResolutionPolicy = .clientWins }
        #expect(reply.status == 200)
        #expect(fixture.origin.received.last?.fields["If-Match"] == "\"3\"")
    }

    @Test("SERVER_WINS answers 200 with the server's version")
    func serverWins() async throws {
        fixture.origin.then(409)
        fixture.origin.then(200, ["ETag": "\"3\"", "Content-Type": "application/json"], "{\"v\":3}")
        let reply = try await fixture.send(.put, "/items/1", "{}") { $0.conflictResolutionPolicy = .serverWins }
        #expect(reply.status == 200)
        #expect(reply.fields["Sync-Outcome"] == "server-wins")
        #expect(reply.json["v"]?.int == 3)
    }

    @Test("what SERVER_WINS drops is readable in a final operation and its closed conflict", arguments: [404, 409])
    func dropped(status: Int) async throws {
        try await fixture.know("/items/1", "{\"v\":1}", etag: "\"1\"")
        fixture.origin.then(status)
        if status == 409 { fixture.origin.then(200, ["ETag": "\"3\""], "{\"v\":3}") }
        let reply = try await fixture.send(.put, "/items/1", "{\"v\":2}") {
            $0.conflictResolutionPolicy = .serverWins
        }
        #expect(reply.status == (status == 404 ? 404 : 200))
        let id = OperationID(try #require(reply.fields["Sync-Operation"]))
        let operation = try #require(try await fixture.store.operation(id))
        #expect(operation.state == .cancelled)
        #expect(operation.reason == Reason.serverWins)
        #expect(operation.lastAnswer?.status == status)
        let conflictID = try #require(operation.conflictID)
        let conflict = try #require(try await fixture.store.conflict(conflictID))
        #expect(conflict.closedAt != nil)
        #expect(conflict.operationID == id)
        let client = try #require(conflict.client.content)
        #expect(try await fixture.store.bytes(of: client, limit: 100) == Array("{\"v\":2}".utf8))
        #expect(fixture.queue.lane(of: fixture.key("/items/1")) == .empty)
    }

    // Idempotency-Key (design 5)

    @Test("a repeat under a key gets the first answer and does not reach the origin")
    func replayed() async throws {
        fixture.origin.then(201, ["Location": "http://origin.test/items/7"], "made")
        let fields: HTTPFields = ["Idempotency-Key": "k1"]
        _ = try await fixture.send(.post, "/items", "{}", fields: fields)
        let reply = try await fixture.send(.post, "/items", "{}", fields: fields)
        #expect(reply.status == 201)
        #expect(reply.fields["Idempotency-Replayed"] == "true")
        #expect(reply.fields["Cache-Status"] == "Holdfast; detail=REPLAYED")
        #expect(reply.fields["Location"] == "/resources/items/7")
        #expect(String(decoding: reply.body, as: UTF8.self) == "made")
        #expect(fixture.origin.received.count == 1)
    }

    @Test("another request under the same key is 422")
    func reused() async throws {
        fixture.origin.then(204)
        _ = try await fixture.send(.put, "/items/1", "{}", fields: ["Idempotency-Key": "k1"])
        let reply = try await fixture.send(.put, "/items/1", "[]", fields: ["Idempotency-Key": "k1"])
        #expect(reply.problem?.code == .keyReused)
    }

    @Test("a repeat after outcome-unknown starts in unknown")
    func repeatedUnknown() async throws {
        let fields: HTTPFields = ["Idempotency-Key": "k1", "Prefer": "wait=0"]
        fixture.origin.thenFail(.noAnswer(reason: "reset"))
        _ = try await fixture.send(.put, "/items/1", "{}", fields: fields)
        let reply = try await fixture.send(.put, "/items/1", "{}", fields: fields)
        #expect(reply.status == 202)
        #expect(fixture.queue.unfinished().first?.state == .unknown)
    }

    @Test("under CLIENT_WINS the result of a PATCH is PUT where its target is gone", arguments: [404, 412])
    func recreated(status: Int) async throws {
        try await fixture.know("/items/1", "{\"id\":1,\"v\":1}", etag: "\"1\"")
        fixture.origin.then(status)
        if status == 412 { fixture.origin.then(404) }
        fixture.origin.then(201, ["ETag": "\"2\""])
        let patch: HTTPFields = ["Content-Type": "application/merge-patch+json"]
        let reply = try await fixture.send(.patch, "/items/1", "{\"v\":2}", fields: patch) {
            $0.conflictResolutionPolicy = .clientWins
        }
        #expect(reply.status == 201)
        let last = try #require(fixture.origin.received.last)
        #expect(last.method == .put)
        #expect(last.fields["If-None-Match"] == "*")
        #expect(last.fields["Content-Type"] == "application/json")
        #expect(try JSONValue(parsing: last.body)["v"]?.int == 2)
    }
}
