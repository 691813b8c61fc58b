import API
import CacheCore
import HTTPModel
import TestSupport
import Testing

/// /cache/operations, /cache/sync, resolutions and adoption where they succeed.
@Suite("Managing the queue")
struct OperationsTests {
    let fixture = ManagementFixture()

    private var queue: OperationQueue { fixture.writes.queue }

    private func queued() async throws -> Operation {
        fixture.writes.network.force(offline: true)
        let reply = try await fixture.writes.send(.put, "/items/1", "{\"v\":2}")
        let id = OperationID(try #require(reply.json["id"]?.string))
        return try #require(queue.operation(id))
    }

    /// One that the origin refused with 422.
    private func failed() async throws -> Operation {
        let operation = try await queued()
        _ = try await queue.claim(limit: 1, now: fixture.writes.clock.now)
        let answer = KeptAnswer(status: 422, fields: [:])
        try await queue.record(.failed(reason: "status", answer: answer), of: operation.id)
        return operation
    }

    @Test("a failed operation is retried under the same key")
    func retry() async throws {
        let operation = try await failed()
        let reply = try await fixture.send(.post, "/cache/operations/\(operation.id)/retry")
        #expect(reply.status == 200)
        #expect(reply.json["state"]?.string == "pending")
        let claim = try await queue.claim(limit: 1, now: fixture.writes.clock.now).first
        #expect(claim?.operation.idempotencyKey == operation.idempotencyKey)
        #expect(claim?.operation.keyRound == operation.keyRound)
    }

    @Test("a failed operation is edited, and goes on under the next round of its key")
    func edit() async throws {
        let operation = try await failed()
        let change = "{\"headers\":{\"X-Note\":\"again\"},\"body\":{\"v\":3}}"
        let reply = try await fixture.send(.patch, "/cache/operations/\(operation.id)", change)
        #expect(reply.json["state"]?.string == "pending")
        #expect(reply.json["headers"]?["X-Note"]?.string == "again")
        let edited = try #require(queue.operation(operation.id))
        #expect(edited.keyRound == operation.keyRound + 1)
        let body = try #require(edited.body)
        #expect(try await fixture.writes.store.bytes(of: body, limit: 100) == Array("{\"v\":3}".utf8))
    }

    @Test("a discarded operation is cancelled, and its edit shows no more")
    func discard() async throws {
        let operation = try await queued()
        let reply = try await fixture.send(.delete, "/cache/operations/\(operation.id)")
        #expect(reply.json["items"]?[0]?["state"]?.string == "cancelled")
        #expect(queue.localEdit(of: operation.lane) == nil)
        #expect(try await fixture.writes.store.operation(operation.id)?.state == .cancelled)
    }

    @Test(
        "one whose outcome is unknown is discarded only with force=true",
        arguments: [
            "/cache/operations/ID?", "/cache/operations/ID?cascade=true&",
            "/cache/entry?target=/items/1&discard=true&",
        ])
    func forced(path: String) async throws {
        let operation = try await queued()
        _ = try await queue.claim(limit: 1, now: fixture.writes.clock.now)
        let path = path.replacing("ID", with: operation.id.text)
        let sent = try await fixture.send(.delete, path + "force=true")
        #expect(sent.status == 409)
        #expect(sent.json["type"]?.string == "/problems/operation-busy")
        try await queue.record(.unknown(at: 0, answer: nil, reason: Reason.settle), of: operation.id)
        let refused = try await fixture.send(.delete, path + "force=false")
        #expect(refused.status == 409)
        #expect(refused.json["detail"]?.string?.contains("force=true") == true)
        #expect(queue.operation(operation.id)?.state == .unknown)
        #expect((200...204).contains(try await fixture.send(.delete, path + "force=true").status))
        #expect(queue.operation(operation.id) == nil)
        #expect(try await fixture.writes.store.operation(operation.id)?.state == .cancelled)
    }

    @Test("of all local edits, one whose outcome is unknown is discarded only with force=true")
    func forcedTogether() async throws {
        let operation = try await queued()
        _ = try await queue.claim(limit: 1, now: fixture.writes.clock.now)
        try await queue.record(.unknown(at: 0, answer: nil, reason: Reason.settle), of: operation.id)
        let kept = try await fixture.send(.delete, "/cache/operations")
        #expect(kept.json["discarded"]?.int == 0 && kept.json["left"]?.int == 1)
        let forced = try await fixture.send(.delete, "/cache/operations?force=true")
        #expect(forced.json["discarded"]?.int == 1 && forced.json["left"]?.int == 0)
        #expect(queue.operation(operation.id) == nil)
    }

    @Test("all local edits are discarded by some hundreds a commit")
    func discardedByPages() async throws {
        fixture.writes.network.force(offline: true)
        for number in 1...300 { _ = try await fixture.writes.send(.put, "/items/\(number)", "{}") }
        let commits = fixture.writes.store.commits.count
        let reply = try await fixture.send(.delete, "/cache/operations")
        #expect(reply.json["discarded"]?.int == 300 && reply.json["left"]?.int == 0)
        #expect(fixture.writes.store.commits.count == commits + 2)
    }

    @Test("E11: sync tells what became of each operation, and whether it is offline", arguments: [true, false])
    func sync(isOffline: Bool) async throws {
        let operation = try await queued()
        fixture.writes.network.force(offline: isOffline)
        fixture.delivery.answer([operation.id])
        let reply = try await fixture.send(.post, "/cache/sync?wait=1")
        #expect(reply.status == 200)
        #expect(reply.json["offline"]?.bool == isOffline)
        #expect(reply.json["items"]?[0]?["id"]?.string == operation.id.text)
        #expect(reply.json["items"]?[0]?["state"]?.string == "pending")
    }

    @Test("all of a partition is handed to the one of the credential that asks")
    func adopt() async throws {
        let old = PartitionID(high: 9, low: 9)
        let conflict = try await fixture.conflict(partition: old)
        let reply = try await fixture.send(
            .post, "/cache/partitions/\(old.text)/adopt", fields: ["Authorization": "Basic YTpi"])
        #expect(reply.status == 200)
        #expect(reply.json["from"]?.string == old.text)
        let new = PartitionID(high: 1, low: 2)
        #expect(reply.json["to"]?.string == new.text)
        #expect(queue.conflict(of: EntryKey(partition: new, target: conflict.key.target))?.id == conflict.id)
        #expect(queue.conflict(of: conflict.key) == nil)
    }

    @Test("a resolution that the origin took is answered with the entry")
    func resolved() async throws {
        try await fixture.writes.know("/items/1", "{\"v\":2}", etag: "\"4\"")
        let conflict = try await fixture.conflict()
        let reply = try await fixture.send(
            .post, "/cache/conflicts/\(conflict.id)/resolution", "{\"keep\":\"merged\",\"body\":{\"v\":5}}")
        #expect(reply.status == 200)
        #expect(reply.json["target"]?.string == "/items/1")
        #expect(reply.json["serverCopy"]?["etag"]?.string == "\"4\"")
        guard case .merged(let content, _)? = fixture.delivery.resolutions.first else {
            Issue.record("\(fixture.delivery.resolutions)")
            return
        }
        #expect(try await fixture.writes.store.bytes(of: content, limit: 100) == Array("{\"v\":5}".utf8))
    }

    @Test("a resolution that is queued is answered with its operation")
    func queuedResolution() async throws {
        let conflict = try await fixture.conflict()
        let operation = try await queued()
        fixture.delivery.answer(.queued(operation))
        let reply = try await fixture.send(
            .post, "/cache/conflicts/\(conflict.id)/resolution", "{\"keep\":\"client\"}")
        #expect(reply.status == 202)
        #expect(reply.fields["Sync-Operation"] == operation.id.text)
        #expect(reply.json["id"]?.string == operation.id.text)
    }

    @Test("a resolution that meets a newer version is 409 with the same conflict and that version")
    func movedAgain() async throws {
        let conflict = try await fixture.conflict()
        var newer = conflict
        newer.revision += 1
        newer.server?.etag = "\"9\""
        fixture.delivery.answer(.conflictAgain(newer))
        let reply = try await fixture.send(
            .post, "/cache/conflicts/\(conflict.id)/resolution", "{\"keep\":\"client\"}")
        #expect(reply.status == 409)
        #expect(reply.json["conflict"]?["id"]?.string == conflict.id)
        #expect(reply.json["conflict"]?["server"]?["etag"]?.string == "\"9\"")
        #expect(reply.fields["ETag"] == "\"\(conflict.id)-\(newer.revision)\"")
    }
}
