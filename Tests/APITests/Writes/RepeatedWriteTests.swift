import API
import CacheCore
import HTTPModel
import TestSupport
import Testing

/// Repeats under the same Idempotency-Key of writes that the origin refused (design 5).
@Suite("Repeats of refused writes")
struct RepeatedWriteTests {
    let fixture = WriteFixture()

    private func send(
        _ method: HTTPMethod = .put, _ body: String = #"{"n":2}"#, key: String? = "K", prefer: String? = "wait=0",
        policy: (inout PolicyLayer) -> Void = { _ in }
    ) async throws -> WriteFixture.Reply {
        var fields = HTTPFields()
        fields["Idempotency-Key"] = key
        fields["Prefer"] = prefer
        if method == .patch { fields["Content-Type"] = "application/merge-patch+json" }
        return try await fixture.send(
            method, "/items/1", method == .delete ? "" : body, fields: fields, policy: policy)
    }

    /// The origin has another version by now.
    private func refuse() {
        fixture.origin.then(412)
        fixture.origin.then(200, ["ETag": "\"2\"", "Content-Type": "application/json"], #"{"n":9}"#)
    }

    /// Queues it while offline, and is online again with the write stopped.
    private func queued(_ method: HTTPMethod = .put, stoppedAs state: OperationState) async throws -> Operation {
        try await fixture.know("/items/1", #"{"n":1}"#, etag: "\"1\"")
        fixture.settings.update { $0.laneWait = 0 }
        fixture.network.force(offline: true)
        #expect(try await send(method).status == 202)
        let sent = try #require(try await fixture.queue.claim(limit: 1, now: fixture.clock.now).first?.operation)
        let answer = KeptAnswer(status: state == .conflict ? 412 : 403, fields: [:])
        let conflict = Conflict(
            id: "c1", key: sent.lane, kind: .edited, operationID: sent.id, method: method, fields: [:], base: nil,
            client: sent.clientVersion, server: ConflictVersion(etag: "\"2\""), serverIsLatest: true,
            originAnswer: answer, policy: Policy(), createdAt: fixture.clock.now)
        try await fixture.queue.record(
            state == .conflict
                ? .conflict(conflict, answer: answer, copies: []) : .failed(reason: Reason.status, answer: answer),
            of: sent.id)
        fixture.network.force(offline: false)
        return try #require(fixture.queue.operation(sent.id))
    }

    @Test(
        "a repeat of an online write in conflict gets its answer again, and overwrites nothing",
        arguments: [HTTPMethod.put, .patch, .delete], [false, true])
    func online(method: HTTPMethod, isOffline: Bool) async throws {
        try await fixture.know("/items/1", #"{"n":1}"#, etag: "\"1\"")
        refuse()
        let first = try await send(method)
        #expect(first.problem?.code == .conflict)
        if isOffline { fixture.network.force(offline: true) }
        let again = try await send(method)
        #expect(again.status == 412 && again.fields["Content-Type"] == "application/problem+json")
        #expect(again.fields["Idempotency-Replayed"] == "true" && again.fields["Sync-State"] == "conflict")
        #expect(again.json["links"] == first.json["links"] && again.json["server"] == first.json["server"])
        #expect(fixture.origin.received.count == 2)
        #expect(fixture.queue.unfinished().isEmpty)
    }

    @Test("the same write under another key, or none, decides the conflict", arguments: ["L", nil] as [String?])
    func decision(key: String?) async throws {
        try await fixture.know("/items/1", #"{"n":1}"#, etag: "\"1\"")
        refuse()
        _ = try await send()
        fixture.origin.then(204)
        #expect(try await send(key: key).status == 204)
        #expect(fixture.origin.received.last?.fields["If-Match"] == "\"2\"")
        let again = try await send()
        #expect(again.status == 412 && again.fields["Sync-State"] == "synced")
        #expect(fixture.origin.received.count == 3)
    }

    @Test("a repeat of a write of which nothing may be kept overwrites nothing either")
    func forbidden() async throws {
        try await fixture.know("/items/1", #"{"n":1}"#, etag: "\"1\"")
        refuse()
        let first = try await send { $0.noCache = true }
        let again = try await send { $0.noCache = true }
        #expect(again.status == 412 && again.json["detail"] == first.json["detail"])
        #expect(fixture.origin.received.count == 2)
    }

    @Test(
        "a repeat of a queued write in conflict gets its receipt with the conflict, and sends nothing",
        arguments: [HTTPMethod.put, .patch, .delete], [false, true])
    func receipt(method: HTTPMethod, isOffline: Bool) async throws {
        let stopped = try await queued(method, stoppedAs: .conflict)
        if isOffline { fixture.network.force(offline: true) }
        let reply = try await send(method, prefer: nil)
        #expect(reply.status == 202 && reply.json["id"]?.string == stopped.id.text)
        #expect(reply.json["state"]?.string == "conflict" && reply.json["syncState"]?.string == "conflict")
        #expect(reply.json["links"]?["conflict"]?.string == "/cache/conflicts/c1")
        #expect(try await send(method, prefer: "wait=0").problem?.status == 412)
        #expect(fixture.origin.received.isEmpty && fixture.queue.operation(stopped.id) == stopped)
    }

    @Test(
        "a repeat of a queued write that failed tries it again as itself", arguments: [HTTPMethod.put, .patch, .delete])
    func failed(method: HTTPMethod) async throws {
        let stopped = try await queued(method, stoppedAs: .failed)
        let reply = try await send(method)
        #expect(reply.status == 202 && reply.json["id"]?.string == stopped.id.text)
        #expect(reply.json["state"]?.string == "pending")
        #expect(fixture.origin.received.isEmpty)
        #expect(fixture.queue.unfinished().map(\.id) == [stopped.id])
    }

    @Test("a repeat of a write that SERVER_WINS has dropped does not win")
    func serverWins() async throws {
        try await fixture.know("/items/1", #"{"n":1}"#, etag: "\"1\"")
        refuse()
        let first = try await send { $0.conflictResolutionPolicy = .serverWins }
        let again = try await send { $0.conflictResolutionPolicy = .serverWins }
        #expect(again.status == 202 && again.json["state"]?.string == "cancelled")
        #expect(again.fields["Sync-Outcome"] == "server-wins")
        #expect(again.fields["Sync-Operation"] == first.fields["Sync-Operation"])
        #expect(fixture.origin.received.count == 2)
    }
}
