import API
import CacheCore
import HTTPModel
import Synchronization
import TestSupport
import Testing

@Suite("Reads of edits", .timeLimit(.minutes(1)))
struct EditReadTests {
    let fixture = ReadFixture()
    private let json: HTTPFields = ["Content-Type": "application/json"]

    private func edit() async throws {
        try await fixture.know("/a", "{\"v\":1}", ["ETag": "\"1\"", "Content-Type": "application/json"])
        fixture.network.force(offline: true)
        #expect(await fixture.ask("/resources/a", json, method: .put, body: "{\"v\":2}").status == 202)
    }

    @Test("an edit shows with a tag of its own, no-cache, no dates and no age")
    func shows() async throws {
        try await edit()
        let answer = await fixture.ask("/resources/a")
        #expect(answer.text == "{\"v\":2}")
        #expect(answer.fields["ETag"]?.hasPrefix("\"hf-") == true)
        #expect(answer.fields["Cache-Control"] == "no-cache")
        #expect(!answer.fields.contains("Age"))
        #expect(!answer.fields.contains("Last-Modified"))
        #expect(answer.fields["Sync-State"] == "pending-update")
        #expect(answer.fields["Cache-Status"] == "Holdfast; hit; detail=LOCAL_EDIT")
    }

    @Test("conditions and ranges work on an edit")
    func conditional() async throws {
        try await edit()
        let tag = try #require(await fixture.ask("/resources/a").fields["ETag"])
        #expect(await fixture.ask("/resources/a", ["If-None-Match": tag]).status == 304)
        let part = await fixture.ask("/resources/a", ["Range": "bytes=0-2", "If-Range": tag])
        #expect(part.status == 206)
        #expect(part.text == "{\"v")
        #expect(await fixture.ask("/resources/a", ["If-Match": "\"other\""]).status == 412)
    }

    @Test("persistentState=true reads the server copy")
    func persistentState() async throws {
        try await edit()
        let answer = await fixture.ask("/resources/a?persistentState=true")
        #expect(answer.text == "{\"v\":1}")
        #expect(answer.fields["ETag"] == "\"1\"")
        #expect(await fixture.ask("/resources/a?persistentState=maybe").status == 400)
    }

    @Test("U03: a read of an edit makes the credential known with which it is delivered, as after a restart")
    func credential() async throws {
        let secret: HTTPFields = ["Authorization": "Bearer A", "Content-Type": "application/json"]
        let partitions = Mutex<[PartitionID]>([])
        fixture.credentials.onArrival { partition in partitions.withLock { $0.append(partition) } }
        fixture.originSays(200, ["Cache-Control": "max-age=60", "Content-Type": "application/json"], "[]")
        _ = await fixture.ask("/resources/list", secret)
        let partition = try #require(partitions.withLock { $0.first })
        fixture.network.force(offline: true)
        let made = await fixture.ask("/resources/list", secret, method: .post, body: "{}")
        for target in [try #require(made.fields["Location"]), "/resources/list"] {
            fixture.credentials.refused(["Authorization": "Bearer A"], for: partition)
            #expect(fixture.credentials.fields(for: partition) == nil)
            let answer = await fixture.ask(target, ["Authorization": "Bearer A"])
            #expect(answer.fields["Cache-Status"] == "Holdfast; hit; detail=LOCAL_EDIT")
            #expect(fixture.credentials.fields(for: partition) == ["Authorization": "Bearer A"])
        }
        #expect(partitions.withLock { $0 } == [partition, partition, partition])
    }

    @Test("a pending delete reads as 404")
    func deleted() async throws {
        try await fixture.know("/a", "{}", ["ETag": "\"1\""])
        fixture.network.force(offline: true)
        _ = await fixture.ask("/resources/a", method: .delete)
        let answer = await fixture.ask("/resources/a")
        #expect(answer.status == 404)
        #expect(answer.fields["Sync-State"] == "pending-delete")
    }

    @Test("an hf- tag never reaches the origin")
    func unknownTag() async {
        fixture.originSays(200, [:], "x")
        _ = await fixture.ask("/resources/b", ["If-None-Match": "\"hf-gone\""])
        #expect(fixture.origin.requests.allSatisfy { !$0.fields.contains("If-None-Match") })
    }

    @Test("a stale hit does not outlive an edit on the hot path")
    func hotPath() async throws {
        try await fixture.know("/a", "{}", ["ETag": "\"1\""])
        _ = await fixture.ask("/resources/a")
        #expect(fixture.hot("/resources/a") != nil)
        fixture.network.force(offline: true)
        _ = await fixture.ask("/resources/a", json, method: .put, body: "{\"v\":2}")
        #expect(fixture.hot("/resources/a") == nil)
    }
}
