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
        bench.queue.dueAtOnce(byHand: false)
        #expect(try await bench.claimOne()?.id == operation.id)
    }

    @Test("an unknown outcome that was looked at in vain is looked at again at once")
    func looksAgain() async throws {
        let operation = try await waiting { .unknown(at: $0, answer: nil, reason: nil) }
        bench.queue.dueAtOnce(byHand: false)
        let claim = try #require(try await bench.queue.claim(limit: 1, now: bench.clock.now).first)
        #expect(claim.operation.id == operation.id)
        #expect(claim.mustVerify)
    }

    @Test("an unknown outcome that settles goes on settling")
    func settles() async throws {
        _ = try await waiting { .unknown(at: $0, answer: nil, reason: Reason.settle) }
        bench.queue.dueAtOnce(byHand: false)
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
        bench.queue.dueAtOnce(byHand: false)
        #expect(try await bench.claimOne() == nil)
    }

    @Test("O17: what the origin answered before it was queued holds for what is merged into it too")
    func retryAfterAtFirst() async throws {
        let due = bench.clock.now + 3600
        _ = try await bench.queue.accept(
            WriteDraft(
                key: QueueBench.key("/items/2"), route: .resources, method: .put, kind: .edit, fields: [:], body: nil,
                precondition: .none, policy: Policy(), idempotencyKey: nil, fingerprint: Digest(bytes: [1]),
                notBefore: due))
        let merged = try await bench.write(.put, "/items/2", "{}")
        #expect(bench.queue.unfinished().map(\.id) == [merged.id])
        bench.queue.dueAtOnce(byHand: false)
        #expect(try await bench.claimOne() == nil)
        #expect(try await bench.queue.claim(limit: 1, now: due).first?.operation.id == merged.id)
    }

    @Test("O17: asked for by hand, what the origin told to wait is due at once", arguments: [true, false])
    func retryAfterByHand(all: Bool) async throws {
        let operation = try await waiting { .retry(at: $0, answer: nil, reason: Reason.retryAfter) }
        if all {
            bench.queue.dueAtOnce(byHand: true)
        } else {
            #expect(try await bench.queue.retry(operation.id).nextAttemptAt == nil)
            #expect(try await bench.restarted().operation(operation.id)?.nextAttemptAt == nil)
        }
        let claim = try #require(try await bench.queue.claim(limit: 1, now: bench.clock.now).first)
        #expect(claim.operation.attempts == 2 && !claim.mustVerify)
    }

    @Test(
        "asked for by hand, an unknown outcome is looked at as soon as it has settled",
        arguments: [Reason.retryAfter, Reason.settle])
    func unknownByHand(reason: String) async throws {
        let operation = try await waiting { .unknown(at: $0, answer: nil, reason: reason) }
        let settle = bench.settings.current.settle
        for _ in 1...2 {
            #expect(try await bench.queue.retry(operation.id).nextAttemptAt == bench.clock.now + settle)
        }
        #expect(try await bench.claimOne() == nil)
        bench.clock.advance(by: settle)
        #expect(try await bench.queue.claim(limit: 1, now: bench.clock.now).first?.mustVerify == true)
    }

    @Test("what waits for a credential, or is under way, can't be hurried")
    func notByHand() async throws {
        let operation = try await bench.write(.put, "/items/1", "{}")
        _ = try await bench.claimOne()
        await #expect(throws: Problem.self) { try await bench.queue.retry(operation.id) }
        try await bench.queue.record(.waitsForCredential, of: operation.id)
        await #expect(throws: Problem.self) { try await bench.queue.retry(operation.id) }
        #expect(bench.queue.operation(operation.id)?.reason == Reason.credential)
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
