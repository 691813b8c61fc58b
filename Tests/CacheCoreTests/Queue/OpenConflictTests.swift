import CacheCore
import HTTPModel
import TestSupport
import Testing

/// Which conflicts of an entry stay open when there is another (design 6).
@Suite("Open conflicts of one entry")
struct OpenConflictTests {
    let bench = QueueBench()
    private let key = QueueBench.key("/items/1")

    /// Of an online write that was refused by that version.
    private func refusedOnline(_ id: String, server etag: String?) async throws -> Conflict {
        bench.clock.advance(by: 1)
        let conflict = Conflict(
            id: id, key: key, kind: .edited, operationID: nil, method: .put, fields: [:], base: nil,
            client: ConflictVersion(), server: etag.map { ConflictVersion(etag: $0) }, serverIsLatest: etag != nil,
            originAnswer: nil, policy: Policy(), createdAt: bench.clock.now)
        try await bench.queue.record(conflict)
        return conflict
    }

    /// Of a queued write that was claimed, and refused by that version.
    private func refused(_ operation: Operation, server etag: String) async throws -> Conflict {
        bench.clock.advance(by: 1)
        _ = try await bench.claimOne()
        let conflict = bench.conflict(operation, server: ConflictVersion(etag: etag))
        try await bench.queue.record(.conflict(conflict, answer: nil, copies: []), of: operation.id)
        return conflict
    }

    private func open() async throws -> [Conflict] {
        try await bench.store.conflicts(partitions: nil, open: true, after: nil, limit: 10).items
    }

    @Test("of two online writes that were refused the newer one's is open")
    func online() async throws {
        let old = try await refusedOnline("c1", server: "\"2\"")
        let new = try await refusedOnline("c2", server: "\"3\"")
        #expect(try await open() == [new])
        #expect(bench.queue.conflict(of: key) == new)
        #expect(try await bench.store.conflict(old.id)?.closedAt != nil)
        #expect(bench.queue.counts.openConflicts == 1)
    }

    @Test("that of an online write closes where a queued one is refused after it")
    func queuedAfterOnline() async throws {
        _ = try await refusedOnline("c1", server: "\"2\"")
        let new = try await refused(try await bench.write(.put, "/items/1", "{}"), server: "\"3\"")
        #expect(try await open().map(\.id) == [new.id])
    }

    @Test("that of a queued write stays with it, and shows the version that refused an online one after it")
    func onlineAfterQueued() async throws {
        let operation = try await bench.write(.put, "/items/1", "{}")
        let old = try await refused(operation, server: "\"2\"")
        let new = try await refusedOnline("c2", server: "\"3\"")
        #expect(bench.queue.conflict(of: key) == new)
        let told = try #require(try await bench.store.conflict(old.id))
        #expect(told.closedAt == nil && told.revision == old.revision + 1)
        #expect(told.server?.etag == "\"3\"" && told.serverIsLatest)
        _ = try await refusedOnline("c3", server: nil)
        let doubted = try #require(try await bench.store.conflict(old.id))
        #expect(doubted.server?.etag == "\"3\"" && !doubted.serverIsLatest)
    }

    @Test("a younger one stays where an older one learns of a newer version, and learns of it too")
    func olderLearns() async throws {
        var old = try await refused(try await bench.write(.put, "/items/1", "{}"), server: "\"2\"")
        let new = try await refusedOnline("c2", server: "\"3\"")
        old.server?.etag = "\"4\""
        try await bench.queue.record(old)
        #expect(try await open().map(\.server?.etag) == ["\"4\"", "\"4\""])
        #expect(try await open().contains { $0.id == new.id })
    }

    @Test("a queued write that is refused again has one")
    func again() async throws {
        let operation = try await bench.write(.put, "/items/1", "{}")
        _ = try await refused(operation, server: "\"2\"")
        _ = try await bench.queue.retry(operation.id)
        let new = try await refused(operation, server: "\"3\"")
        #expect(try await open().map(\.id) == [new.id])
    }
}
