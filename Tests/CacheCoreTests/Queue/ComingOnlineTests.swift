import CacheCore
import HTTPModel
import TestSupport
import Testing

/// What becomes of an operation's times when the service comes online (design 8).
@Suite("Coming online")
struct ComingOnlineTests {
    let bench = QueueBench()

    /// One that was claimed, with that outcome an hour ahead.
    private func waiting(_ outcome: (Double) -> DeliveryOutcome) async throws -> Operation {
        let operation = try await bench.write(.put, "/items/1", "{}")
        _ = try await bench.claimOne()
        try await bench.queue.record(outcome(bench.clock.now + 3600), of: operation.id)
        #expect(try await bench.claimOne() == nil)
        return operation
    }

    @Test("what backs off is due at once")
    func refused() async throws {
        let operation = try await waiting { .retry(at: $0, answer: KeptAnswer(status: 500, fields: [:]), reason: nil) }
        bench.queue.dueAtOnce()
        #expect(try await bench.claimOne()?.id == operation.id)
    }

    @Test("an unknown outcome that was looked at in vain is looked at again at once")
    func looksAgain() async throws {
        let operation = try await waiting { .unknown(at: $0, answer: nil, reason: nil) }
        bench.queue.dueAtOnce()
        let claim = try #require(try await bench.queue.claim(limit: 1, now: bench.clock.now).first)
        #expect(claim.operation.id == operation.id)
        #expect(claim.mustVerify)
    }

    @Test("an unknown outcome that settles goes on settling")
    func settles() async throws {
        _ = try await waiting { .unknown(at: $0, answer: nil, reason: Reason.settle) }
        bench.queue.dueAtOnce()
        #expect(try await bench.claimOne() == nil)
    }

    @Test("O17: Retry-After holds, whatever is known of the outcome", arguments: [503, 504])
    func retryAfter(status: Int) async throws {
        let answer = KeptAnswer(status: status, fields: ["Retry-After": "3600"])
        _ = try await waiting {
            status == 503
                ? .retry(at: $0, answer: answer, reason: Reason.retryAfter)
                : .unknown(at: $0, answer: answer, reason: Reason.retryAfter)
        }
        bench.queue.dueAtOnce()
        #expect(try await bench.claimOne() == nil)
    }

    @Test("a look without a connection leaves an unknown outcome as it was, due as soon as it is online")
    func noConnection() async throws {
        let operation = try await bench.write(.put, "/items/1", "{}")
        _ = try await bench.claimOne()
        let now = bench.clock.now
        try await bench.queue.record(.unknown(at: now, answer: nil, reason: Reason.settle), of: operation.id)
        let before = try #require(bench.queue.operation(operation.id))
        _ = try await bench.claimOne()
        try await bench.queue.record(.notSent, of: operation.id)
        let after = try #require(bench.queue.operation(operation.id))
        #expect(after.state == .unknown)
        #expect(after.attempts == before.attempts)
        #expect(after.nextAttemptAt == nil)
        #expect(try await bench.queue.claim(limit: 1, now: now).first?.mustVerify == true)
    }
}
