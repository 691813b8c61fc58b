import CacheCore
import HTTPModel
import TestSupport
import Testing

@Suite struct `Several operations discarded together` {
    private let bench = QueueBench()

    @Test func `They are one commit, with what depends on them`() async throws {
        let create = try await bench.write(.post, "/items", "{}")
        let temporary = try #require(create.temporaryTarget?.text)
        let naming = try await bench.write(.put, "/x", #"{"of":"\#(temporary)"}"#)
        let edit = try await bench.write(.put, "/y", "{}", kind: .action)
        let later = try await bench.write(.put, "/y", "{}")
        let ids = [create, naming, edit, later].map(\.id)
        let commits = bench.store.commits.count
        #expect(Set(try await bench.queue.discard(ids, force: false).map(\.id)) == Set(ids))
        #expect(bench.store.commits.count == commits + 1)
        #expect(bench.queue.unfinished().isEmpty)
        #expect(bench.queue.resolve(Target(unchecked: temporary), of: .none) == .gone)
        for id in ids { #expect(try await bench.store.operation(id)?.state == .cancelled) }
    }

    @Test func `What is being sent stays, though forced; what is behind it goes`() async throws {
        let sent = try await bench.write(.put, "/items/1", "{}")
        _ = try await bench.claimOne()
        let later = try await bench.write(.put, "/items/1", #"{"v":2}"#)
        let other = try await bench.write(.put, "/items/2", "{}")
        let ids = [sent, later, other].map(\.id)
        #expect(Set(try await bench.queue.discard(ids, force: true).map(\.id)) == [later.id, other.id])
        #expect(bench.queue.unfinished().map(\.id) == [sent.id])
    }

    @Test func `What may be in effect goes only where it is forced`() async throws {
        let sent = try await bench.write(.put, "/items/1", "{}")
        _ = try await bench.claimOne()
        try await bench.queue.record(.unknown(at: .infinity, answer: nil, reason: Reason.settle), of: sent.id)
        #expect(try await bench.queue.discard([sent.id], force: false).isEmpty)
        #expect(bench.queue.operation(sent.id)?.state == .unknown)
        #expect(try await bench.queue.discard([sent.id], force: true).map(\.id) == [sent.id])
        #expect(bench.queue.operation(sent.id) == nil)
    }

    @Test func `An edit that one which stays was made upon, and needs, stays with it; others go`() async throws {
        let first = try await bench.write(.put, "/items/1", #"{"v":1}"#)
        let patch = WriteDraft(
            key: first.lane, route: .resources, method: .patch, kind: .edit,
            fields: ["Content-Type": "application/merge-patch+json"],
            body: try await bench.store.makeContent(Array("{}".utf8), for: .operation), precondition: .none,
            policy: Policy(), idempotencyKey: nil, fingerprint: Digest(bytes: [1]), initialState: .unknown)
        let unknown = try await bench.queue.accept(patch)
        let other = try await bench.write(.put, "/items/2", "{}")
        let ids = [first, unknown, other].map(\.id)
        #expect(try await bench.queue.discard(ids, force: false).map(\.id) == [other.id])
        #expect(bench.queue.unfinished().map(\.id) == [first.id, unknown.id])
    }
}
