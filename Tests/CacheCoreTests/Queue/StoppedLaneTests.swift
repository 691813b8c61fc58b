import CacheCore
import HTTPModel
import TestSupport
import Testing

@Suite("Stopped lanes")
struct StoppedLaneTests {
    let bench = QueueBench()

    private func stop(_ target: String, _ body: String) async throws -> Operation {
        let operation = try await bench.write(.put, target, body)
        _ = try await bench.claimOne()
        try await bench.queue.record(.failed(reason: "status", answer: nil), of: operation.id)
        return operation
    }

    private func conflict(server etag: String) async throws -> (Operation, Conflict) {
        try await bench.read("/items/1", "{}", etag: "\"1\"")
        let operation = try await bench.write(.put, "/items/1", #"{"v":1}"#)
        _ = try await bench.claimOne()
        let conflict = bench.conflict(operation, server: ConflictVersion(etag: etag))
        try await bench.queue.record(.conflict(conflict, answer: nil, copies: []), of: operation.id)
        return (operation, conflict)
    }

    @Test("K29: a failed operation stops its lane only")
    func oneLane() async throws {
        let poison = try await stop("/items/1", "{}")
        try await bench.write(.put, "/items/2", "{}")
        #expect(bench.queue.lane(of: poison.lane) == .stopped(poison.id))
        #expect(try await bench.claimOne()?.target.text == "/items/2")
    }

    @Test("the next PUT replaces a conflict, guarded by the newest server version, and closes it")
    func replace() async throws {
        let (old, conflict) = try await conflict(server: "\"2\"")
        #expect(bench.queue.conflict(of: old.lane)?.id == conflict.id)
        let new = try await bench.write(.put, "/items/1", #"{"v":2}"#)
        #expect(new.precondition == .ifMatch("\"2\""))
        #expect(bench.queue.conflict(of: old.lane) == nil)
        #expect(try await bench.store.operation(old.id)?.state == .superseded)
        #expect(try await bench.claimOne()?.id == new.id)
    }

    @Test("a PATCH meanwhile is lane-stopped")
    func patch() async throws {
        _ = try await stop("/items/1", "{}")
        await #expect(throws: Problem.self) {
            try await bench.write(.patch, "/items/1", "{}", type: "application/merge-patch+json")
        }
    }

    @Test("a resolution without an answer is unknown under the key that it was sent with, and settles")
    func unknownResolution() async throws {
        let old = try await bench.write(.put, "/items/1", #"{"v":1}"#, key: "K")
        _ = try await bench.claimOne()
        try await bench.queue.record(
            .conflict(bench.conflict(old, server: ConflictVersion(etag: "\"2\"")), answer: nil, copies: []), of: old.id)
        let draft = WriteDraft(
            key: old.lane, route: .resources, method: .put, kind: .resolution,
            fields: ["Content-Type": "application/json"], body: old.body, precondition: .ifMatch("\"2\""),
            policy: Policy(), idempotencyKey: "sent", fingerprint: Digest(bytes: [9]), initialState: .unknown,
            base: Base(etag: "\"2\""))
        let resolution = try await bench.queue.accept(draft)
        #expect(resolution.id == old.id && resolution.idempotencyKey == "sent" && resolution.keyRound == 1)
        #expect(resolution.mergedKeys == ["K"])
        #expect(resolution.fingerprints == [Digest(bytes: [9])] + old.fingerprints)
        let now = bench.clock.now
        #expect(try await bench.queue.claim(limit: 1, now: now).isEmpty)
        let claim = try await bench.queue.claim(limit: 1, now: now + bench.settings.current.settle).first
        #expect(claim?.mustVerify == true)
    }

    @Test("a resolution takes the place of the operation that stopped")
    func resolution() async throws {
        let (old, _) = try await conflict(server: "\"2\"")
        let body = try await bench.store.makeContent(Array("{}".utf8), for: .operation)
        let draft = WriteDraft(
            key: old.lane, route: .resources, method: .put, kind: .resolution,
            fields: ["Content-Type": "application/json"], body: body, precondition: .none, policy: Policy(),
            idempotencyKey: nil, fingerprint: Digest(bytes: [1]), base: Base(etag: "\"2\""))
        let resolution = try await bench.queue.accept(draft)
        #expect(resolution.id == old.id && resolution.keyRound == 2)
        #expect(resolution.precondition == .ifMatch("\"2\""))
        _ = try await bench.claimOne()
        try await bench.deliver(resolution.id, etag: "\"3\"")
        #expect(bench.queue.conflict(of: old.lane) == nil)
    }

    @Test("retry sends the same again under the same key")
    func retry() async throws {
        let operation = try await stop("/items/1", "{}")
        _ = try await bench.queue.retry(operation.id)
        let sent = try #require(try await bench.claimOne())
        #expect(sent.id == operation.id && sent.keyRound == 1)
    }

    @Test("an edited operation is another request")
    func edit() async throws {
        let operation = try await stop("/items/1", "{}")
        let body = try await bench.store.makeContent(Array(#"{"v":9}"#.utf8), for: .operation)
        #expect(try await bench.queue.edit(operation.id, fields: nil, body: body).keyRound == 2)
        #expect(try await bench.shown("/items/1") == #"{"v":9}"#)
    }

    @Test("discard takes the edit back and rebases those behind it")
    func discard() async throws {
        try await bench.read("/items/1", #"{"s":1}"#, etag: "\"1\"")
        let first = try await bench.write(.patch, "/items/1", #"{"a":1}"#, type: "application/merge-patch+json")
        try await bench.write(.patch, "/items/1", #"{"b":2}"#, type: "application/merge-patch+json")
        _ = try await bench.queue.discard(first.id, cascade: false)
        #expect(try await bench.shown("/items/1") == #"{"s":1,"b":2}"#)
        #expect(try await bench.claimOne()?.precondition == .ifMatch("\"1\""))
    }

    @Test("a write of unknown outcome that is given up leaves the lane to those behind it, guarded by its base")
    func giveUp() async throws {
        try await bench.read("/items/1", #"{"s":1}"#, etag: "\"1\"")
        let poison = try await bench.write(.put, "/items/1", #"{"v":1}"#)
        _ = try await bench.claimOne()
        let later = try await bench.write(.put, "/items/1", #"{"v":2}"#)
        try await bench.queue.record(.unknown(at: .infinity, answer: nil, reason: Reason.settle), of: poison.id)
        _ = try await bench.queue.discard(poison.id, cascade: false, force: true)
        let next = try #require(try await bench.claimOne())
        #expect(next.id == later.id)
        #expect(next.precondition == .ifMatch("\"1\""))
    }

    @Test("what a later patch needs is discarded after it, and the refusal names that patch")
    func discardFromTheEnd() async throws {
        let first = try await bench.write(.put, "/items/1", #"{"v":1}"#)
        _ = try await bench.claimOne()
        let patch = try await bench.write(.patch, "/items/1", #"{"a":1}"#, type: "application/merge-patch+json")
        let last = try await bench.write(.patch, "/items/1", #"{"b":1}"#, type: "application/merge-patch+json")
        try await bench.queue.record(.failed(reason: "status", answer: nil), of: first.id)
        let refused = await #expect(throws: Problem.self) { try await bench.queue.discard(first.id, cascade: false) }
        #expect(refused?.code == .patchConflict && refused?.detail.contains(patch.id.text) ?? false)
        for operation in [last, patch, first] { _ = try await bench.queue.discard(operation.id, cascade: false) }
        #expect(bench.queue.lane(of: first.lane) == .empty)
    }

    @Test("what is under way can't be discarded, what others name only with them")
    func discardRefusals() async throws {
        let create = try await bench.write(.post, "/items", "{}")
        let temporary = try #require(create.temporaryTarget?.text)
        try await bench.write(.put, "/x", #"{"of":"\#(temporary)"}"#)
        await #expect(throws: Problem.self) { try await bench.queue.discard(create.id, cascade: false) }
        #expect(try await bench.queue.discard(create.id, cascade: true).count == 2)
        let other = try await bench.write(.put, "/y", "{}")
        _ = try await bench.claimOne()
        await #expect(throws: Problem.self) { try await bench.queue.discard(other.id, cascade: true) }
    }

    @Test("K03: a rebased DELETE stays a DELETE with the new tag")
    func rebasedDelete() async throws {
        try await bench.read("/items/1", "{}", etag: "\"1\"")
        let delete = try await bench.write(.delete, "/items/1")
        _ = try await bench.claimOne()
        try await bench.queue.record(
            .rebased(precondition: .ifMatch("\"2\""), base: Base(etag: "\"2\"")), of: delete.id)
        let again = try #require(try await bench.claimOne())
        #expect(again.method == .delete && again.precondition == .ifMatch("\"2\"") && again.keyRound == 2)
    }

    @Test("adopted operations go on under the new identity")
    func adopt() async throws {
        let partition = PartitionID(high: 1, low: 2)
        let operation = try await bench.write(.put, "/items/1", "{}")
        try await bench.queue.adopt(from: .none, to: partition)
        #expect(bench.queue.operation(operation.id)?.partition == partition)
        #expect(bench.queue.lane(of: EntryKey(partition: partition, target: operation.target)) == .active)
    }
}
