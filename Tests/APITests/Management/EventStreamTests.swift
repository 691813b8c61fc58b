import API
import CacheCore
import HTTPModel
import TestSupport
import Testing

@Suite("The event stream", .timeLimit(.minutes(1)))
struct EventStreamTests {
    private let fixture = ManagementFixture()

    /// Opens the stream on a task of its own.
    private func listen(
        _ target: String = "/cache/events", _ fields: HTTPFields = HTTPFields(), access: Access = .full,
        mayWrite: Latch = Latch(isOpen: true)
    ) -> (client: RecordingExchange, run: Task<Void, any Error>) {
        let client = RecordingExchange(
            RequestHead(method: .get, target: target, fields: fields), mayWrite: mayWrite)
        let run = Task { [service = fixture.service] in
            try await service.handle(
                client, path: "/cache/events", query: QueryParameters(Target(unchecked: target).query), access: access)
        }
        return (client, run)
    }

    /// What the client has got, once it has that; pauses between wakings pass meanwhile.
    private func text(_ client: RecordingExchange, when isThere: (String) -> Bool) async -> String {
        let clock = fixture.writes.clock
        await eventually {
            if let next = clock.nextWake, next - clock.now < 1 { clock.advance(by: next - clock.now) }
            return isThere(client.soFar.text)
        }
        return client.soFar.text
    }

    private func key(_ target: String, _ partition: PartitionID) -> EntryKey {
        EntryKey(partition: partition, target: Target(unchecked: target))
    }

    private func emit(_ target: String, _ partition: PartitionID = .none) {
        fixture.hub.emit(.entry(key(target, partition), state: "synced", deleted: false))
    }

    @Test("A listener is told where it stands and then what happens, as id, event and one line of JSON")
    func form() async throws {
        let (client, run) = listen()
        #expect(await text(client) { $0.contains("\n\n") } == "id: 1-0\n\n")
        #expect(client.soFar.fields["Content-Type"] == "text/event-stream")
        #expect(client.soFar.fields["Cache-Control"] == "no-store")
        let at = Timestamp.format(fixture.writes.clock.now)
        fixture.hub.emit(.network(from: "online", to: "offline"))
        let told = await text(client) { $0.contains("network") }
        let data =
            #"{"id":"1-1","type":"network","at":"\#(at)","network":{"from":"online","to":"offline"}}"#
        #expect(told.hasSuffix("id: 1-1\nevent: network\ndata: \(data)\n\n"), "\(told)")
        client.leave()
        try await run.value
    }

    @Test("A line break in a target stays inside its line")
    func injection() async throws {
        let (client, run) = listen()
        _ = await text(client) { !$0.isEmpty }
        emit("/a\n\ndata: {}\r\nevent: x")
        let told = await text(client) { $0.contains("entry") }
        #expect(told.split(separator: "\n").filter { $0.hasPrefix("data:") }.count == 1)
        #expect(!told.contains("\r"))
        client.leave()
        try await run.value
    }

    @Test("Last-Event-ID brings what was missed")
    func resumes() async throws {
        for target in ["/a", "/b", "/c"] { emit(target) }
        let (client, run) = listen("/cache/events", ["Last-Event-ID": "1-1"])
        let told = await text(client) { $0.contains("/c") }
        #expect(told.hasPrefix("id: 1-1\n\n"))
        #expect(!told.contains("/a") && told.contains("/b"))
        client.leave()
        try await run.value
    }

    @Test("An id of another start, of the future or that is none is answered resync", arguments: ["9-1", "1-99", "?"])
    func resync(id: String) async throws {
        emit("/a")
        let (client, run) = listen("/cache/events", ["Last-Event-ID": id])
        let told = await text(client) { $0.contains("\n\n") }
        #expect(told.hasPrefix("id: 1-1\nevent: resync\n"))
        emit("/b")
        _ = await text(client) { $0.contains("/b") }
        client.leave()
        try await run.value
    }

    @Test("A reader that falls behind the ring is told resync and let go; nobody waits for it")
    func slow() async throws {
        let mayWrite = Latch()
        let (client, run) = listen(mayWrite: mayWrite)
        await eventually { fixture.hub.listenerCount > 0 }
        for _ in 0..<9000 { emit("/a") }
        mayWrite.open()
        try await run.value
        #expect(client.soFar.text.hasSuffix("\"}\n\n"))
        #expect(client.soFar.text.contains("id: 1-9000\nevent: resync\n"))
        #expect(client.soFar.isWhole)
        #expect(fixture.hub.listenerCount == 0)
    }

    @Test("A listener sees its own partition and none; all only with a full token")
    func partitions() async throws {
        let own = PartitionID(high: 1, low: 2)
        let (mine, one) = listen("/cache/events", ["Authorization": "Basic eA=="], access: .readOnly)
        let (all, other) = listen("/cache/events?partition=*")
        await eventually { fixture.hub.listenerCount >= 2 }
        emit("/foreign", PartitionID(high: 5, low: 5))
        emit("/mine", own)
        emit("/public")
        #expect(await !text(mine) { $0.contains("/public") }.contains("/foreign"))
        #expect(mine.soFar.text.contains("/mine"))
        #expect(await text(all) { $0.contains("/public") }.contains("/foreign"))
        let (refused, third) = listen("/cache/events?partition=*", access: .readOnly)
        await #expect(throws: Problem.self) { try await third.value }
        #expect(refused.soFar.heads == 0)
        mine.leave()
        all.leave()
        try await one.value
        try await other.value
    }

    @Test("HEAD answers the head alone, and the end of the service ends the streams")
    func ends() async throws {
        let head = try await fixture.send(.head, "/cache/events")
        #expect(head.status == 200 && head.body.isEmpty)
        let (client, run) = listen()
        await eventually { fixture.hub.listenerCount > 0 }
        fixture.hub.close()
        try await run.value
        #expect(client.soFar.isWhole)
    }
}
