import CacheCore
import HTTPModel
import TestSupport
import Testing

@Suite struct `Outcomes of several lanes` {
    private let bench = QueueBench()

    private func claimed(_ count: Int) async throws -> [Operation] {
        for number in 1...count { try await bench.write(.put, "/items/\(number)", "{}") }
        return try await bench.queue.claim(limit: count, now: bench.clock.now).map(\.operation)
    }

    private func delivered(etag: String) -> DeliveryOutcome {
        .delivered(
            answer: KeptAnswer(status: 204, fields: ["ETag": etag]), newTarget: nil, newBase: Base(etag: etag),
            copies: [])
    }

    @Test func `They are one commit, each as if it had come alone`() async throws {
        let operations = try await claimed(3)
        let successor = try await bench.write(.put, "/items/1", #"{"later":1}"#, if: .ifMatch(operations[0].tag))
        let commits = bench.store.commits.count
        let left = await bench.queue.record([
            (operations[0].id, delivered(etag: "\"1\"")),
            (operations[1].id, .retry(at: bench.clock.now + 9, answer: nil, reason: nil)),
            (operations[2].id, .failed(reason: "status", answer: nil)),
        ])
        #expect(left.isEmpty)
        #expect(bench.store.commits.count == commits + 1)
        #expect(try await bench.store.operation(operations[0].id)?.state == .delivered)
        #expect(bench.queue.operation(operations[1].id)?.nextAttemptAt == bench.clock.now + 9)
        #expect(bench.queue.operation(operations[2].id)?.state == .failed)
        #expect(bench.queue.operation(successor.id)?.precondition == .ifMatch("\"1\""))
    }

    @Test func `Those of lanes that are being changed are left`() async throws {
        let operations = try await claimed(2)
        let outcomes = operations.map { ($0.id, delivered(etag: "\"1\"")) }
        _ = try await bench.queue.takingOver {
            #expect(await bench.queue.record(outcomes) == operations.map(\.id))
            return []
        }
        #expect(bench.queue.counts.sending == 2)
        #expect(await bench.queue.record(outcomes).isEmpty)
    }

    @Test func `A create is left: its target becomes another for those that name it`() async throws {
        try await bench.write(.post, "/items", "{}")
        let create = try #require(try await bench.claimOne())
        #expect(await bench.queue.record([(create.id, .failed(reason: "status", answer: nil))]) == [create.id])
    }

    @Test func `Where the commit fails all are left, and can be recorded later`() async throws {
        let operations = try await claimed(2)
        let outcomes = operations.map { ($0.id, delivered(etag: "\"1\"")) }
        bench.store.failure = .full
        #expect(await bench.queue.record(outcomes) == operations.map(\.id))
        #expect(bench.queue.counts.sending == 2)
        bench.store.failure = nil
        #expect(await bench.queue.record(outcomes).isEmpty)
        #expect(bench.queue.counts.sending == 0)
    }
}
