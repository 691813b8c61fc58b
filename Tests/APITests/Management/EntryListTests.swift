import API
import CacheCore
import HTTPModel
import TestSupport
import Testing

@Suite("Entries under /cache")
struct EntryListTests {
    let fixture = ManagementFixture()

    private func keep(
        _ target: String, _ body: String, _ fields: HTTPFields = ["Content-Type": "application/json"],
        isListed: Bool = false
    ) async throws {
        let store = fixture.writes.store
        let content = try await store.makeContent(Array(body.utf8), for: .copy)
        let copy = ServerCopy(
            status: 200, fields: fields, content: content, requestTime: 1, responseTime: 1, isListed: isListed, epoch: 1
        )
        try await store.commit([.putCopy(fixture.writes.key(target), copy)], durable: true)
    }

    private func targets(_ query: String) async throws -> [String] {
        let reply = try await fixture.send(.get, "/cache/entries" + query)
        #expect(reply.status == 200)
        return reply.json["items"]?.array?.compactMap { $0["target"]?.string } ?? []
    }

    @Test("kind is collection for lists of any form, item for other JSON, file for the rest")
    func kinds() async throws {
        fixture.writes.settings.update { $0.collections = [CollectionRule(path: PathPattern("/configured"))] }
        try await keep("/array", " [1]")
        try await keep("/parallel", "{\"items\":[],\"uris\":[],\"etags\":[]}")
        try await keep("/configured", "{\"data\":[]}")
        try await keep("/item", "{\"items\":[1]}")
        try await keep("/text", "[1]", ["Content-Type": "text/plain"])
        try await keep("/said", "x", ["Oracle-Mobile-Sync-Resource-Type": "Collection"])
        let kinds = [
            "/array": "collection", "/parallel": "collection", "/configured": "collection", "/item": "item",
            "/text": "file", "/said": "collection",
        ]
        for (target, kind) in kinds {
            let reply = try await fixture.send(.get, "/cache/entry?target=" + target)
            #expect(reply.json["kind"]?.string == kind, "\(target)")
        }
    }

    @Test("an entry that a list alone tells of is in the state listed, until it is edited")
    func listed() async throws {
        try await keep("/items/1", "{}", isListed: true)
        try await keep("/items/2", "{}")
        #expect(try await targets("?state=listed") == ["/items/1"])
        #expect(try await targets("?state=synced") == ["/items/2"])
        fixture.writes.network.force(offline: true)
        _ = try await fixture.writes.send(.put, "/items/1", "{}")
        #expect(try await targets("?state=listed").isEmpty)
        #expect(try await targets("?state=pending-update") == ["/items/1"])
    }

    @Test("entries that only an edit makes stand among the others, on whichever page they fall")
    func editOnly() async throws {
        for target in ["/a", "/c", "/e"] { try await keep(target, "{}") }
        fixture.writes.network.force(offline: true)
        for target in ["/b", "/c", "/d", "/f"] { _ = try await fixture.writes.send(.put, target, "{}") }
        var seen: [String] = []
        var after = ""
        repeat {
            let reply = try await fixture.send(.get, "/cache/entries?limit=2" + after)
            let items = reply.json["items"]?.array ?? []
            #expect(items.count <= 2)
            seen += items.compactMap { $0["target"]?.string }
            guard let next = reply.json["next"]?.string else { break }
            after = "&after=" + next
        } while seen.count < 20
        #expect(seen == ["/a", "/b", "/c", "/d", "/e", "/f"])
        #expect(try await targets("?prefix=/d") == ["/d"])
        #expect(try await targets("?state=pending-update&limit=4") == ["/b", "/c", "/d", "/f"])
    }

    @Test("a tag is a group that the origin named, in any of three fields")
    func tags() async throws {
        try await keep("/a", "{}", ["Cache-Tag": "news, front"])
        try await keep("/b", "{}", ["Surrogate-Key": "front page"])
        try await keep("/c", "{}", ["Cache-Groups": "\"front\", \"x y\""])
        try await keep("/d", "{}", ["Cache-Tag": "frontier"])
        #expect(try await targets("?tag=front") == ["/a", "/b", "/c"])
        #expect(try await targets("?tag=x%20y") == ["/c"])
        let reply = try await fixture.send(.delete, "/cache/entries?tag=front&state=synced")
        #expect(reply.json["evicted"]?.int == 3)
        #expect(try await targets("") == ["/d"])
    }
}
