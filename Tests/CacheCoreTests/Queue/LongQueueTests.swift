import CacheCore
import HTTPModel
import TestSupport
import Testing

/// Work for each operation must not grow with their number: done so, these take seconds, else the better part of an hour.
@Suite("Long queues", .timeLimit(.minutes(10)))
struct LongQueueTests {
    private static let count = 10_000
    let bench = QueueBench()

    private func drain(limit: Int) async throws -> [OperationID] {
        var delivered: [OperationID] = []
        while true {
            let claims = try await bench.queue.claim(limit: limit, now: bench.clock.now)
            if claims.isEmpty { return delivered }
            for claim in claims {
                try await bench.deliver(claim.operation.id, etag: "\"\(delivered.count)\"")
                delivered.append(claim.operation.id)
            }
        }
    }

    @Test("ten thousand operations on one lane are accepted and delivered in order")
    func oneLane() async throws {
        bench.settings.update { $0.coalesce = false }
        var accepted: [OperationID] = []
        for number in 0..<Self.count {
            accepted.append(try await bench.write(.put, "/items/1", "{\"v\":\(number)}").id)
        }
        #expect(try await drain(limit: 256) == accepted)
        #expect(bench.queue.counts.pending == 0)
    }

    @Test("ten thousand lanes are accepted and claimed by the hundred")
    func manyLanes() async throws {
        var accepted: [OperationID] = []
        for number in 0..<Self.count {
            accepted.append(try await bench.write(.put, "/items/\(number)", "{\"v\":\(number)}").id)
        }
        let first = try await bench.queue.claim(limit: 256, now: bench.clock.now)
        #expect(first.map(\.operation.id) == Array(accepted.prefix(256)))
        for claim in first { try await bench.deliver(claim.operation.id) }
        #expect(try await drain(limit: 256) == Array(accepted.dropFirst(256)))
    }
}
