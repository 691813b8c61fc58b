import API
import CacheCore
import HTTPModel
import TestSupport
import Testing

@Suite("Management")
struct ManagementTests {
    let fixture = ManagementFixture()

    @Test("an unknown path is 404")
    func unknownPath() async throws {
        #expect(try await fixture.send(.get, "/cache/nothing").problem?.code == .notFound)
    }

    @Test("a wrong method is 405 with Allow")
    func wrongMethod() async throws {
        let reply = try await fixture.send(.delete, "/cache/network")
        #expect(reply.status == 405)
        #expect(reply.fields["Allow"] == "GET, PUT, HEAD")
    }

    @Test("the overview counts what is pending")
    func overview() async throws {
        fixture.writes.network.force(offline: true)
        _ = try await fixture.writes.send(.put, "/items/1", "{}")
        let reply = try await fixture.send(.get, "/cache")
        #expect(reply.json["pending"]?.int == 1)
        #expect(reply.json["network"]?.string == "offline")
        #expect(reply.json["identity"]?.string == "unchecked")
    }

    @Test("an entry with a pending edit is evicted only with discard=true")
    func evict() async throws {
        fixture.writes.network.force(offline: true)
        _ = try await fixture.writes.send(.put, "/items/1", "{}")
        let refused = try await fixture.send(.delete, "/cache/entry?target=/items/1")
        #expect(refused.status == 409)
        #expect(refused.problem?.code == .operationsPending)
        #expect(try await fixture.send(.delete, "/cache/entry?target=/items/1&discard=true").status == 204)
        #expect(fixture.writes.queue.unfinished().isEmpty)
    }

    @Test("an entry tells of its edit, its expiry by the policy in force and the origin's fields")
    func flags() async throws {
        try await fixture.writes.know("/items/1", "{}", etag: "\"1\"")
        let clean = try await fixture.send(.get, "/cache/entry?target=/items/1").json
        #expect(clean["hasOfflineUpdates"]?.bool == false)
        #expect(clean["serverCopy"]?["expired"]?.bool == true)
        #expect(clean["serverCopy"]?["headers"]?["ETag"]?.string == "\"1\"")
        _ = try await fixture.send(
            .put, "/cache/entry/policy?target=/items/1", "{\"expirationPolicy\":\"NEVER_EXPIRE\"}")
        fixture.writes.network.force(offline: true)
        _ = try await fixture.writes.send(.put, "/items/1", "{}")
        let edited = try await fixture.send(.get, "/cache/entry?target=/items/1").json
        #expect(edited["hasOfflineUpdates"]?.bool == true)
        #expect(edited["hasConflicts"]?.bool == false)
        #expect(edited["hasOfflineCommitError"]?.bool == false)
        #expect(edited["serverCopy"]?["expired"]?.bool == false)
    }

    @Test("all local edits are discarded at once, with what depends on them, and the server's copies stay")
    func discardAll() async throws {
        try await fixture.writes.know("/items/1", "{\"v\":1}", etag: "\"1\"")
        fixture.writes.network.force(offline: true)
        _ = try await fixture.writes.send(.put, "/items/1", "{\"v\":2}")
        let created = try await fixture.writes.send(.post, "/items", "{\"v\":3}")
        let temporary = try #require(created.fields["Location"]).dropFirst("/resources".count)
        _ = try await fixture.writes.send(.put, String(temporary), "{\"v\":4}")
        let reply = try await fixture.send(.delete, "/cache/operations")
        #expect(reply.json["left"]?.int == 0)
        #expect((reply.json["discarded"]?.int ?? 0) >= 2)
        #expect(fixture.writes.queue.unfinished().isEmpty)
        #expect(try await fixture.writes.store.entry(fixture.writes.key("/items/1"))?.copies.count == 1)
    }

    @Test("evicting many leaves pinned entries and edits alone")
    func evictMany() async throws {
        for target in ["/items/1", "/items/2", "/items/3"] {
            try await fixture.writes.know(target, "{}", etag: "\"1\"")
        }
        _ = try await fixture.send(.put, "/cache/entry/pin?target=/items/2", "{\"priority\":\"high\"}")
        fixture.writes.network.force(offline: true)
        _ = try await fixture.writes.send(.put, "/items/3", "{}")
        let reply = try await fixture.send(.delete, "/cache/entries?prefix=/items/")
        #expect(reply.json["evicted"]?.int == 1)
        #expect(try await fixture.writes.store.entry(fixture.writes.key("/items/1")) == nil)
    }

    @Test(
        "a parameter that a page does not take is refused, so that a misspelt one never widens what is deleted",
        arguments: [
            "/cache/entries?prefx=/items/", "/cache/operations?state=failed", "/cache/entry?target=/a&Discard=true",
        ])
    func parameters(path: String) async throws {
        try await fixture.writes.know("/a", "{}", etag: "\"1\"")
        fixture.writes.network.force(offline: true)
        _ = try await fixture.writes.send(.put, "/b", "{}")
        let reply = try await fixture.send(.delete, path)
        #expect(reply.status == 400)
        #expect(reply.json["detail"]?.string?.contains("is no parameter here") == true)
        #expect(try await fixture.writes.store.entry(fixture.writes.key("/a")) != nil)
        #expect(fixture.writes.queue.localEdit(of: fixture.writes.key("/b")) != nil)
    }

    @Test("a list is paged by limit and after, which takes next as it stands")
    func pages() async throws {
        for target in ["/a", "/b%26x=1", "/c"] { try await fixture.writes.know(target, "{}", etag: "\"1\"") }
        let first = try await fixture.send(.get, "/cache/entries?limit=2")
        #expect(first.json["items"]?.array?.count == 2)
        let next = try #require(first.json["next"]?.string)
        let rest = try await fixture.send(.get, "/cache/entries?limit=2&after=\(next)")
        #expect(rest.json["items"]?[0]?["target"]?.string == "/c")
        #expect(rest.json["next"] == nil)
        #expect(try await fixture.send(.get, "/cache/entries?after=/b").status == 400)
    }

    @Test("a refresh stores what the origin answers")
    func refresh() async throws {
        fixture.writes.origin.then(200, ["Content-Type": "application/json", "ETag": "\"9\""], "{}")
        let reply = try await fixture.send(.post, "/cache/entry/refresh?target=/items/1")
        #expect(reply.json["serverCopy"]?["etag"]?.string == "\"9\"")
    }

    @Test("another's partition needs a full token")
    func visibility() async throws {
        let conflict = try await fixture.conflict(partition: PartitionID(high: 9, low: 9))
        #expect(try await fixture.send(.get, "/cache/entries?partition=*", access: .readOnly).status == 403)
        #expect(try await fixture.send(.get, "/cache/conflicts/\(conflict.id)", access: .readOnly).status == 404)
        #expect(try await fixture.send(.get, "/cache/conflicts/\(conflict.id)").status == 200)
    }

    @Test("only failed operations are edited")
    func editPending() async throws {
        fixture.writes.network.force(offline: true)
        _ = try await fixture.writes.send(.put, "/items/1", "{}")
        let id = try #require(fixture.writes.queue.unfinished().first?.id)
        #expect(try await fixture.send(.patch, "/cache/operations/\(id)", "{\"body\":{}}").problem?.code == .notFailed)
    }

    @Test("a conflict shows its versions and where they differ")
    func conflict() async throws {
        let conflict = try await fixture.conflict()
        let reply = try await fixture.send(.get, "/cache/conflicts/\(conflict.id)")
        #expect(reply.json["client"]?["body"]?["v"]?.int == 2)
        #expect(reply.json["server"]?["body"]?["v"]?.int == 3)
        #expect(reply.json["differences"]?.array?.compactMap(\.string) == ["/v"])
        #expect(reply.fields.contains("ETag"))
    }

    @Test("a stale dialog can't resolve a conflict")
    func staleDialog() async throws {
        let path = "/cache/conflicts/\(try await fixture.conflict().id)/resolution"
        let refused = try await fixture.send(.post, path, "{\"keep\":\"client\"}", fields: ["If-Match": "\"old\""])
        #expect(refused.status == 412)
    }

    @Test("policies are in force at once")
    func policies() async throws {
        let text = "{\"policies\":[{\"path\":\"/a/**\",\"noCache\":true}],\"defaultPolicy\":{}}"
        #expect(try await fixture.send(.put, "/cache/policies", text).status == 200)
        #expect(fixture.writes.settings.current.policies.rules.first?.layer.noCache == true)
    }

    @Test("a body above maxJSONSize is 413")
    func tooLarge() async throws {
        fixture.writes.settings.update { $0.maxJSONSize = 4 }
        #expect(try await fixture.send(.put, "/cache/network", "{\"offline\":true}").status == 413)
    }

    @Test("every problem code has a page with its cause and what ends it", arguments: ProblemCode.allCases)
    func problemPage(code: ProblemCode) async throws {
        let reply = try await fixture.send(.get, "/problems/\(code.slug)", access: .open)
        let (cause, remedy) = code.explanation
        #expect(reply.status == 200)
        let page = String(decoding: reply.body, as: UTF8.self)
        for text in [cause, remedy] {
            #expect(page.contains("<p>\(text)</p>"))
            #expect(!text.contains { "<&".contains($0) }, "the text stands in HTML as it is")
        }
    }

    @Test("no two problem codes are explained alike")
    func problemsDiffer() {
        let codes = ProblemCode.allCases.filter { $0 != .offlineGateway }
        #expect(Set(codes.map(\.explanation.cause)).count == codes.count)
    }
}
