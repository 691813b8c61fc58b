import CacheCore
import HTTPModel
import TestSupport
import Testing

@Suite struct `Operations come and go with their store` {
    private let bench = QueueBench()

    private func letGo(leaving: Bool = true) async throws -> QueueImage {
        var gone = QueueImage.empty
        try await bench.queue.lettingGo(
            leavingOperations: leaving, of: { try await bench.store.loadQueue() }
        ) { gone = $0 }
        return gone
    }

    @Test func `What a store takes with it is neither claimed nor shown, and goes on when it is back`() async throws {
        let write = try await bench.write(.put, "/a", #"{"v":1}"#)
        let image = try await letGo()
        #expect(image.operations.map(\.id) == [write.id])
        #expect(try await bench.claimOne() == nil)
        #expect(bench.queue.localEdit(of: QueueBench.key("/a")) == nil)
        #expect(bench.queue.counts.pending == 0)
        try await bench.queue.takingIn { image }
        #expect(try await bench.shown("/a") == #"{"v":1}"#)
        #expect(try await bench.claimOne()?.id == write.id)
    }

    @Test func `Nothing in the store is changed by its going`() async throws {
        _ = try await bench.write(.put, "/a", "{}")
        let commits = bench.store.commits.count
        _ = try await letGo()
        #expect(bench.store.commits.count == commits)
    }

    @Test func `A store with queued writes goes only where they may be left`() async throws {
        _ = try await bench.write(.put, "/a", "{}")
        await #expect(throws: Problem.self) { try await letGo(leaving: false) }
        #expect(try await bench.claimOne() != nil)
    }

    @Test func `A store does not go while one of its writes is being sent`() async throws {
        let write = try await bench.write(.put, "/a", "{}")
        _ = try await bench.claimOne()
        let going = Task { try await letGo() }
        await eventually { bench.clock.sleeperCount > 0 }
        try await bench.deliver(write.id)
        bench.clock.advance(by: 1)
        #expect(try await going.value.operations.isEmpty)
    }

    @Test func `Writes that wait for each other stay together`() async throws {
        let parent = try await bench.write(.post, "/list", "{}")
        let id = parent.temporaryTarget.flatMap { $0.path.split(separator: "/").last } ?? ""
        _ = try await bench.write(.put, "/a", "{\"parent\":\"\(id)\"}")
        do {
            try await bench.queue.lettingGo(
                leavingOperations: true,
                of: {
                    var image = try await bench.store.loadQueue()
                    image.operations.removeAll { $0.id != parent.id }
                    return image
                }
            ) { _ in Issue.record("it went") }
            Issue.record("it was not refused")
        } catch let problem as Problem {
            #expect(problem.code == .hasDependents)
        }
    }

    @Test func `What was being sent when its store was lost has an unknown outcome when it is back`() async throws {
        let write = try await bench.write(.put, "/a", "{}")
        _ = try await bench.claimOne()
        let image = try await bench.store.loadQueue()
        let other = OperationQueue(
            store: bench.store, clock: bench.clock, events: bench.events, settings: bench.settings)
        try await other.takingIn { image }
        #expect(other.operation(write.id)?.state == .unknown)
    }

    @Test func `A write whose partition another store made is refused when its store has changed`() async throws {
        let draft = WriteDraft(
            key: QueueBench.key("/a"), route: .resources, method: .put, kind: .edit, fields: [:], body: nil,
            precondition: .none, policy: Policy(), idempotencyKey: nil, fingerprint: Digest(bytes: [1]),
            place: StorePlace(store: "gone", opening: 1))
        do {
            _ = try await bench.queue.accept(draft)
            Issue.record("it was taken")
        } catch let problem as Problem {
            #expect(problem.code == .storeDetached)
        }
    }
}
