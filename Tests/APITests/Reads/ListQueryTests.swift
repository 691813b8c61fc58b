import API
import CacheCore
import HTTPModel
import TestSupport
import Testing

@Suite("Local queries of lists", .timeLimit(.minutes(1)))
struct ListQueryTests {
    let fixture = ReadFixture()
    private let json: HTTPFields = ["Content-Type": "application/json"]

    private func know(_ text: String) async throws {
        try await fixture.know("/items", text, ["Content-Type": "application/json", "ETag": "\"l\""])
    }

    private func query(_ filter: String?, _ sort: String? = nil, _ more: HTTPFields = HTTPFields()) async
        -> RecordingExchange.Answer
    {
        var fields = more
        fields["Sync-Filter"] = filter
        fields["Sync-Sort"] = sort
        return await fixture.ask("/resources/items", fields)
    }

    @Test("members are chosen and ordered, byte for byte, without the origin")
    func chosen() async throws {
        try await know("[{\"id\":1,\"p\":10.50}, {\"id\":2,\"p\":9},{\"id\":3,\"p\":1e2}]")
        #expect(await query("p > 9", "-p").text == "[{\"id\":3,\"p\":1e2},{\"id\":1,\"p\":10.50}]")
        #expect(await query("p > 1000").text == "[]")
        let answer = await query(nil, "p")
        #expect(answer.text == "[{\"id\":2,\"p\":9},{\"id\":1,\"p\":10.50},{\"id\":3,\"p\":1e2}]")
        #expect(answer.fields["Cache-Status"] == "Holdfast; hit; detail=LOCAL_QUERY")
        #expect(fixture.origin.requests.isEmpty)
    }

    @Test("pending edits, deletes and creates take part")
    func effective() async throws {
        try await know("[{\"id\":1,\"p\":1},{\"id\":2,\"p\":2},{\"id\":3,\"p\":3}]")
        fixture.network.force(offline: true)
        _ = await fixture.ask("/resources/items/1", json, method: .put, body: "{\"id\":1,\"p\":9}")
        _ = await fixture.ask("/resources/items/3", method: .delete)
        _ = await fixture.ask("/resources/items", json, method: .post, body: "{\"p\":5}")
        let answer = await query("p > 2", "p")
        #expect(answer.text.hasPrefix("[{\"p\":5,\"id\":\"hf-") && answer.text.hasSuffix("},{\"id\":1,\"p\":9}]"))
        #expect(answer.fields["Sync-State"] == "pending-create")
    }

    @Test("the form of the list stays: envelope, parallel arrays")
    func forms() async throws {
        try await know(
            "{\"items\":[{\"p\":1},{\"p\":2}],\"uris\":[\"/a\",\"/b\"],\"etags\":[\"1\",\"2\"],\"properties\":{}}")
        #expect(
            await query("p > 1").text
                == "{\"items\":[{\"p\":2}],\"uris\":[\"/b\"],\"etags\":[\"2\"],\"properties\":{}}")
        var rule = CollectionRule(path: PathPattern("/items"))
        rule.items = "/data"
        let configured = rule
        fixture.settings.update { $0.collections = [configured] }
        try await know("{\"n\": 2, \"data\":[{\"p\":1},{\"p\":2}]}")
        #expect(await query(nil, "-p").text == "{\"n\": 2, \"data\":[{\"p\":2},{\"p\":1}]}")
    }

    @Test("the tag is of the query and the list, and answers 304")
    func tags() async throws {
        try await know("[{\"id\":1,\"p\":1}]")
        let tag = try #require(await query("p > 0").fields["ETag"])
        #expect(tag.hasPrefix("\"hf-"))
        #expect(await query("p > 0", nil, ["If-None-Match": tag]).status == 304)
        #expect(await query("p > 1", nil, ["If-None-Match": tag]).status == 200)
        fixture.network.force(offline: true)
        _ = await fixture.ask("/resources/items/1", json, method: .put, body: "{\"id\":1,\"p\":2}")
        #expect(await query("p > 0", nil, ["If-None-Match": tag]).status == 200)
    }

    @Test("what can't be answered is refused: bad queries, what is no list, what is not kept, what is too large")
    func refused() async throws {
        #expect(await query("p > 0").status == 404)
        try await know("[{\"id\":1}]")
        #expect(await query("p >").status == 400)
        #expect(await query(nil, "a..b").status == 400)
        fixture.settings.update { $0.maxJSONSize = 3 }
        #expect(await query("p > 0").status == 413)
        fixture.settings.update { $0.maxJSONSize = 1000 }
        try await know("{\"id\":1}")
        #expect(await query("p > 0").status == 400)
        #expect(fixture.origin.requests.isEmpty)
    }
}
