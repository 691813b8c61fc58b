import API
import CacheCore
import HTTPModel
import TestSupport
import Testing

@Suite("Reads of lists", .timeLimit(.minutes(1)))
struct ListReadTests {
    let fixture = ReadFixture()
    private let json: HTTPFields = ["Content-Type": "application/json"]
    private let list = "[{\"id\":1,\"p\":1.50},{\"id\":2}]"

    private func configure(_ change: (inout CollectionRule) -> Void = { _ in }) {
        var rule = CollectionRule(path: PathPattern("/items"))
        change(&rule)
        let configured = rule
        fixture.settings.update { $0.collections = [configured] }
    }

    private func know(_ target: String = "/items") async throws {
        try await fixture.know(target, list, ["Content-Type": "application/json", "ETag": "\"l\""])
    }

    private func write(_ method: HTTPMethod, _ target: String, _ body: String = "") async -> RecordingExchange.Answer {
        fixture.network.force(offline: true)
        return await fixture.ask("/resources" + target, body.isEmpty ? HTTPFields() : json, method: method, body: body)
    }

    @Test("an edit, a delete and a create show in the list, in its order, with a tag of Holdfast's own")
    func composed() async throws {
        try await know()
        _ = await write(.put, "/items/2", "{\"id\":2,\"v\":1.0}")
        _ = await write(.delete, "/items/1")
        let created = await write(.post, "/items", "{\"v\":3}")
        let id = try #require(created.fields["Location"]?.split(separator: "/").last)
        let answer = await fixture.ask("/resources/items")
        #expect(answer.text == "[{\"id\":2,\"v\":1.0},{\"v\":3,\"id\":\"\(id)\"}]")
        #expect(answer.fields["ETag"]?.hasPrefix("\"hf-") == true)
        #expect(answer.fields["Cache-Control"] == "no-cache")
        #expect(!answer.fields.contains("Age") && !answer.fields.contains("Last-Modified"))
        #expect(answer.fields["Sync-State"] == "pending-create")
        let tag = try #require(answer.fields["ETag"])
        #expect(await fixture.ask("/resources/items", ["If-None-Match": tag]).status == 304)
        #expect(await fixture.ask("/resources/items", ["Range": "bytes=0-1"]).text == "[{")
        #expect(await fixture.ask("/resources/items", ["If-None-Match": "\"l\""]).status == 200)
        #expect(await fixture.ask("/files/items").text == list)
        #expect(await fixture.ask("/resources/items?persistentState=true").text == list)
    }

    @Test("a create shows only in the list that it was sent to; an edit in every list that holds the member")
    func queries() async throws {
        try await know("/items?q=1")
        _ = await write(.post, "/items", "{\"v\":3}")
        #expect(await fixture.ask("/resources/items?q=1").text == list)
        _ = await write(.delete, "/items/1")
        #expect(await fixture.ask("/resources/items?q=1").text == "[{\"id\":2}]")
    }

    @Test("a list that the origin sends anew shows what is still pending")
    func streamed() async throws {
        try await know()
        _ = await write(.delete, "/items/1")
        fixture.network.force(offline: false)
        fixture.originSays(200, ["Content-Type": "application/json", "ETag": "\"m\""], list)
        let answer = await fixture.ask("/resources/items", ["Sync-Policy": "fetch-policy=FETCH_FROM_SERVICE"])
        #expect(answer.text == "[{\"id\":2}]")
        #expect(answer.fields["ETag"]?.hasPrefix("\"hf-") == true)
        fixture.originSays(200, ["Content-Type": "text/plain"], "[not a list")
        let other = await fixture.ask("/resources/items", ["Sync-Policy": "fetch-policy=FETCH_FROM_SERVICE"])
        #expect(other.text == "[not a list")
    }

    @Test("a hit of the hot path does not outlive an edit of a member")
    func hotPath() async throws {
        try await know()
        _ = await fixture.ask("/resources/items")
        #expect(fixture.hot("/resources/items") != nil)
        _ = await write(.delete, "/items/1")
        #expect(fixture.hot("/resources/items") == nil)
        _ = await fixture.ask("/resources/items")
        #expect(fixture.hot("/resources/items") == nil)
    }

    @Test("a list that is kept with a coding is asked for without one where something pending shows in it")
    func coded() async throws {
        try await fixture.know("/items", "coded", ["Content-Type": "application/json", "Content-Encoding": "gzip"])
        _ = await write(.delete, "/items/1")
        fixture.network.force(offline: false)
        fixture.originSays(200, json, list)
        let answer = await fixture.ask("/resources/items", ["Accept-Encoding": "gzip"])
        #expect(answer.text == "[{\"id\":2}]")
        #expect(fixture.origin.requests.last?.fields["Accept-Encoding"] == "identity")
    }

    @Test("a list over maxJSONSize does not hide what is pending")
    func tooLarge() async throws {
        try await know()
        _ = await write(.delete, "/items/1")
        fixture.settings.update { $0.maxJSONSize = 10 }
        #expect(await fixture.ask("/resources/items").status == 413)
        #expect(await fixture.ask("/files/items").text == list)
    }

    @Test("members of a configured list are served offline and for FETCH_FROM_CACHE, and asked for online")
    func listed() async throws {
        configure {
            $0.items = "/data"
            $0.item = "/data"
        }
        fixture.originSays(200, json, "{\"data\":[{\"id\":1,\"p\":1.50}]}")
        _ = await fixture.ask("/resources/items")
        let cached: HTTPFields = ["Sync-Policy": "fetch-policy=FETCH_FROM_CACHE"]
        #expect(await fixture.ask("/resources/items/1", cached).text == "{\"data\":{\"id\":1,\"p\":1.50}}")
        fixture.originSays(
            200, ["Content-Type": "application/json", "ETag": "\"own\""], "{\"data\":{\"id\":1,\"own\":true}}")
        #expect(await fixture.ask("/resources/items/1").text == "{\"data\":{\"id\":1,\"own\":true}}")
        #expect(fixture.origin.requests.last?.fields.contains("If-None-Match") == false)
        fixture.originSays(200, json, "{\"data\":[{\"id\":1},{\"id\":2}]}")
        _ = await fixture.ask("/resources/items", ["Cache-Control": "no-cache"])
        fixture.network.force(offline: true)
        #expect(await fixture.ask("/resources/items/1").text == "{\"data\":{\"id\":1,\"own\":true}}")
        #expect(await fixture.ask("/resources/items/2").text == "{\"data\":{\"id\":2}}")
    }

    @Test("an array that no rule describes makes no entries")
    func unconfigured() async throws {
        fixture.originSays(200, json, list)
        _ = await fixture.ask("/resources/items")
        #expect(try await fixture.store.entry(fixture.key("/items/1")) == nil)
    }

    @Test("a whole list expires the members it lacks; one with a query removes nobody")
    func lacking() async throws {
        configure()
        fixture.originSays(200, json, list)
        _ = await fixture.ask("/resources/items")
        try await fixture.know("/items/2", "{\"id\":2}", ["Content-Type": "application/json"])
        fixture.originSays(200, json, "[{\"id\":1}]")
        _ = await fixture.ask("/resources/items?q=1")
        #expect(try await fixture.store.entry(fixture.key("/items/2"))?.copies.first?.isExpired == false)
        _ = await fixture.ask("/resources/items", ["Cache-Control": "no-cache"])
        let copy = try await fixture.store.entry(fixture.key("/items/2"))?.copies.first
        #expect(copy?.isExpired == true && copy?.status == 200)
    }

    @Test("parallel arrays make members with their tags; a whole list makes gone what it lacks, elsewhere only expired")
    func parallel() async throws {
        func says(_ uris: String) {
            let one = uris.split(separator: ",").map { _ in "{}" }.joined(separator: ",")
            let tags = uris.split(separator: ",").map { _ in "\"\\\"t\\\"\"" }.joined(separator: ",")
            fixture.originSays(
                200, ["Content-Type": "application/json", "Oracle-Mobile-Sync-Resource-Type": "collection"],
                "{\"items\":[\(one)],\"uris\":[\(uris)],\"etags\":[\(tags)]}")
        }
        says("\"/list/1\",\"/list/2\",\"/other/3\"")
        _ = await fixture.ask("/resources/list")
        let copy = try await fixture.store.entry(fixture.key("/other/3"))?.copies.first
        #expect(copy?.isListed == true && copy?.etag == "\"t\"")
        fixture.clock.advance(by: 5)
        says("\"/list/1\"")
        _ = await fixture.ask("/resources/list", ["Cache-Control": "no-cache"])
        #expect(try await fixture.store.entry(fixture.key("/list/1"))?.copies.first?.status == 200)
        #expect(try await fixture.store.entry(fixture.key("/list/2"))?.copies.first?.status == 404)
        let other = try await fixture.store.entry(fixture.key("/other/3"))?.copies.first
        #expect(other?.status == 200 && other?.isExpired == true)
    }

    @Test("members are known however many there are")
    func many() async throws {
        configure()
        fixture.originSays(200, json, "[" + (0..<2500).map { "{\"id\":\($0)}" }.joined(separator: ",") + "]")
        _ = await fixture.ask("/resources/items")
        await eventually { await fixture.store.usage().entries >= 2501 }
        #expect(await fixture.store.usage().entries == 2501)
    }
}
