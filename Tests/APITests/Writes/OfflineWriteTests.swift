import API
import CacheCore
import HTTPModel
import TestSupport
import Testing

@Suite("Writes while offline")
struct OfflineWriteTests {
    let fixture: WriteFixture

    init() {
        fixture = WriteFixture()
        fixture.network.force(offline: true)
    }

    @Test("a queued write is 202 with a receipt")
    func receipt() async throws {
        let reply = try await fixture.send(.put, "/items/1", "{\"v\":1}", fields: ["Idempotency-Key": "k1"])
        #expect(reply.status == 202)
        let id = fixture.queue.unfinished().first?.id.text
        #expect(reply.json["id"]?.string == id)
        #expect(reply.json["state"]?.string == "pending")
        #expect(reply.json["method"]?.string == "PUT")
        #expect(reply.json["target"]?.string == "/items/1")
        #expect(reply.json["idempotencyKey"]?.string == "k1")
        #expect(reply.json["syncState"]?.string == "pending-update")
        #expect(reply.json["links"]?["entry"]?.string == "/cache/entry?target=%2Fitems%2F1")
        #expect(reply.fields["Sync-Operation"] == id)
        #expect(reply.fields["Sync-State"] == "pending-update")
        #expect(reply.fields["Cache-Status"] == "Holdfast; detail=QUEUED")
    }

    @Test("a temporary target whose create was deleted here says so to writes")
    func deletedCreate() async throws {
        let location = try #require(try await fixture.send(.post, "/items", "{}").fields["Location"])
        let target = String(location.dropFirst("/resources".count))
        #expect(try await fixture.send(.delete, target).status == 202)
        let problem = try await fixture.send(.put, target, "{}").problem
        #expect(problem?.status == 410 && problem?.detail.contains("was deleted or given up here") == true)
    }

    @Test("a write and the policy that it brings are queued in one commit: none is refused after it")
    func policyInOneCommit() async throws {
        let reply = try await fixture.send(.put, "/items/1", "{}", policy: { $0.expireAfter = 60 })
        #expect(reply.status == 202)
        #expect(fixture.store.commits.count == 1)
        #expect(try await fixture.store.entry(fixture.key("/items/1"))?.policy.expireAfter == 60)
    }

    @Test("a queued create names a temporary target")
    func create() async throws {
        let reply = try await fixture.send(.post, "/items", "{}")
        #expect(reply.status == 202)
        #expect(reply.fields["Location"]?.hasPrefix("/resources/items/hf-") == true)
    }

    @Test("a POST to a stored item is an action without Location")
    func action() async throws {
        try await fixture.know("/items/1", "{}", etag: "\"1\"")
        let reply = try await fixture.send(.post, "/items/1", "{}")
        #expect(reply.status == 202)
        #expect(!reply.fields.contains("Location"))
        #expect(fixture.queue.unfinished().first?.kind == .action)
    }

    @Test(
        "a POST to a stored list is a create, whatever the list's form",
        arguments: [
            (#"[{"id":1}]"#, true), (#"{"items":[{}],"uris":["/items/1"],"etags":["1"]}"#, true),
            (#"{"items":[{}],"uris":[],"etags":["1"]}"#, false), (#"{"items":[{}]}"#, false),
        ])
    func createInList(document: String, isList: Bool) async throws {
        try await fixture.know("/items", document, etag: "\"1\"")
        let reply = try await fixture.send(.post, "/items", "{}")
        #expect(reply.status == 202 && reply.fields.contains("Location") == isList)
        #expect(fixture.queue.unfinished().first?.kind == (isList ? .create : .action))
    }

    @Test("return=representation answers the effective copy, return=minimal nothing")
    func prefer() async throws {
        let whole = try await fixture.send(
            .put, "/items/1", "{\"v\":1}", fields: ["Prefer": "return=representation"])
        #expect(whole.status == 202)
        #expect(whole.json["v"]?.int == 1)
        #expect(whole.fields["Content-Location"] == "/resources/items/1")
        #expect(whole.fields["ETag"]?.hasPrefix("\"hf-") == true)
        let minimal = try await fixture.send(.put, "/items/1", "{\"v\":2}", fields: ["Prefer": "return=minimal"])
        #expect(minimal.status == 202)
        #expect(minimal.body.isEmpty)
    }

    @Test("the flag false and UPDATE_IF_ONLINE refuse", arguments: [true, false])
    func refused(byFlag: Bool) async throws {
        let reply = try await fixture.send(
            .put, "/items/1", "{}", policy: { if !byFlag { $0.updatePolicy = .updateIfOnline } },
            save: byFlag ? false : nil)
        #expect(reply.problem?.code == .offlineUpdateRejected)
        #expect(fixture.queue.unfinished().isEmpty)
    }

    @Test("the flag true overrides UPDATE_IF_ONLINE")
    func flagWins() async throws {
        let reply = try await fixture.send(
            .put, "/items/1", "{}", policy: { $0.updatePolicy = .updateIfOnline }, save: true)
        #expect(reply.status == 202)
    }

    @Test("no-store, noCache, post never and parts are not queued", arguments: 0..<4)
    func neverQueued(which: Int) async throws {
        let fields: HTTPFields =
            which == 0 ? ["Cache-Control": "no-store"] : which == 3 ? ["Content-Range": "bytes 0-1/9"] : [:]
        let reply = try await fixture.send(.post, "/login", "{}", fields: fields) {
            if which == 1 { $0.noCache = true }
            if which == 2 { $0.post = .never }
        }
        #expect(reply.problem?.code == .offlineUpdateRejected)
    }

    @Test("other methods can't be queued")
    func otherMethods() async throws {
        let reply = try await fixture.send(HTTPMethod(rawValue: "MOVE"), "/items/1")
        #expect(reply.problem?.code == .methodNotQueueable)
    }

    @Test("a credential that the origin has not accepted is 401")
    func unproven() async throws {
        let reply = try await fixture.send(.put, "/items/1", "{}", proven: false)
        #expect(reply.problem?.code == .credentialUnproven)
    }

    @Test("an upload needs Content-Type")
    func contentType() async throws {
        let reply = try await fixture.send(.put, "/a.bin", "x", route: .files)
        #expect(reply.problem?.code == .contentType)
    }

    @Test("a body that is not what Content-Digest says is 400 and nothing is queued")
    func digest() async throws {
        let reply = try await fixture.send(.put, "/items/1", "{}", fields: ["Content-Digest": "sha-256=:AAAA:"])
        #expect(reply.problem?.code == .badRequest)
        #expect(fixture.queue.unfinished().isEmpty)
    }

    @Test("a full store is 507 and nothing is queued")
    func full() async throws {
        fixture.store.failure = .full
        await #expect(throws: (any Error).self) { _ = try await fixture.send(.put, "/items/1", "{}") }
        #expect(fixture.queue.unfinished().isEmpty)
    }

    @Test("a repeat of an unfinished write gets its receipt again")
    func repeated() async throws {
        let fields: HTTPFields = ["Idempotency-Key": "k1"]
        let first = try await fixture.send(.put, "/items/1", "{}", fields: fields)
        let second = try await fixture.send(.put, "/items/1", "{}", fields: fields)
        #expect(first.json["id"]?.string == second.json["id"]?.string)
        #expect(second.status == 202 && !second.fields.contains("Idempotency-Replayed"))
        #expect(fixture.queue.unfinished().count == 1)
    }

    @Test("online again, a write takes its turn behind the lane")
    func behindLane() async throws {
        _ = try await fixture.send(.put, "/items/1", "{\"v\":1}")
        fixture.network.force(offline: false)
        let reply = try await fixture.send(.put, "/items/1", "{\"v\":2}", fields: ["Prefer": "wait=0"])
        #expect(reply.status == 202)
        #expect(fixture.origin.received.isEmpty)
    }

    @Test("behind a lane a write that must not be queued is 503 with nothing kept")
    func behindLaneUnqueued() async throws {
        _ = try await fixture.send(.put, "/items/1", "{\"v\":1}")
        fixture.network.force(offline: false)
        let reply = try await fixture.send(
            .put, "/items/1", "{\"v\":2}", fields: ["Prefer": "wait=0", "Cache-Control": "no-store"])
        #expect(reply.problem?.code == .offlineUpdateRejected)
        #expect(fixture.queue.unfinished().count == 1)
    }

    @Test("behind a lane UPDATE_IF_ONLINE is 503 and leaves what was queued before")
    func behindLaneOnlineOnly() async throws {
        _ = try await fixture.send(.put, "/items/1", "{\"v\":1}")
        let first = fixture.queue.unfinished().first?.id
        fixture.network.force(offline: false)
        let reply = try await fixture.send(
            .put, "/items/1", "{\"v\":2}", fields: ["Prefer": "wait=0"], policy: { $0.updatePolicy = .updateIfOnline })
        #expect(reply.problem?.code == .offlineUpdateRejected)
        #expect(fixture.queue.unfinished().map(\.id) == [first].compactMap { $0 })
    }

    @Test("other methods are 409 while the lane is not empty")
    func lanePending() async throws {
        _ = try await fixture.send(.put, "/items/1", "{\"v\":1}")
        fixture.network.force(offline: false)
        let reply = try await fixture.send(HTTPMethod(rawValue: "MOVE"), "/items/1")
        #expect(reply.problem?.code == .lanePending)
    }
}
