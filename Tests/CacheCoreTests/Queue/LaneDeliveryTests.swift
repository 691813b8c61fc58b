import CacheCore
import HTTPModel
import TestSupport
import Testing

@Suite("Claims and outcomes")
struct LaneDeliveryTests {
    let bench = QueueBench()

    @Test("sending is on disk before a claim is handed out")
    func sendingFirst() async throws {
        let operation = try await bench.write(.put, "/items/1", "{}")
        _ = try await bench.claimOne()
        #expect(try await bench.store.operation(operation.id)?.state == .sending)
    }

    @Test("claims of several lanes are one commit, one operation a lane")
    func oneCommit() async throws {
        for index in 1...5 { try await bench.write(.put, "/items/\(index)", "{}") }
        _ = try await bench.claimOne()
        try await bench.write(.put, "/items/1", #"{"later":1}"#)
        let before = bench.store.commits.count
        #expect(try await bench.queue.claim(limit: 256, now: bench.clock.now).count == 4)
        #expect(bench.store.commits.count == before + 1)
    }

    @Test("a look in vain is no attempt, before the first one and of an unknown outcome", arguments: [false, true])
    func lookedInVain(isUnknown: Bool) async throws {
        bench.settings.update { $0.maxAttempts = 1 }
        let operation = try await bench.write(.put, "/items/1", "{}")
        if isUnknown {
            _ = try await bench.claimOne()
            try await bench.queue.record(
                .unknown(at: bench.clock.now, answer: nil, reason: Reason.settle), of: operation.id)
        }
        for _ in 1...3 {
            let claim = try #require(try await bench.queue.claim(limit: 1, now: bench.clock.now).first)
            #expect(claim.operation.attempts == (isUnknown ? 2 : 1) && claim.mustVerify == isUnknown)
            try await bench.queue.record(.lookedInVain(at: bench.clock.now + 9), of: operation.id)
            let kept = try #require(try await bench.store.operation(operation.id))
            #expect(kept.attempts == (isUnknown ? 1 : 0) && kept.state == (isUnknown ? .unknown : .pending))
            #expect(try await bench.claimOne() == nil)
            bench.clock.advance(by: 9)
        }
    }

    @Test("O01: a write that arrives during replay comes after those before it")
    func order() async throws {
        try await bench.write(.patch, "/a", "{}", type: "application/merge-patch+json", kind: .action)
        try await bench.write(.post, "/a", "2", kind: .action)
        let first = try #require(try await bench.claimOne())
        try await bench.write(.post, "/a", "3", kind: .action)
        #expect(try await bench.claimOne() == nil)
        var sent = [first]
        try await bench.deliver(first.id)
        while let next = try await bench.claimOne() {
            sent.append(next)
            try await bench.deliver(next.id)
        }
        #expect(sent.map(\.sequence) == sent.map(\.sequence).sorted())
        #expect(sent.count == 3)
    }

    @Test("Q07: a drain that writes are added to ends")
    func drainEnds() async throws {
        for index in 0..<50 { try await bench.write(.post, "/items", "\(index)") }
        var count = 0
        while let next = try await bench.claimOne() {
            if count < 50 { try await bench.write(.post, "/items", "more \(count)") }
            try await bench.deliver(next.id, newTarget: "/items/\(count)")
            count += 1
        }
        #expect(count == 100)
    }

    @Test("Q13: the next edit of a lane carries the tag that the one before got")
    func nextTag() async throws {
        try await bench.read("/items/1", "{}", etag: "\"1\"")
        let first = try await bench.write(.put, "/items/1", #"{"v":1}"#, if: .ifMatch("\"1\""))
        _ = try await bench.claimOne()
        try await bench.write(.put, "/items/1", #"{"v":2}"#, if: .ifMatch(first.tag))
        try await bench.deliver(first.id, etag: "\"2\"")
        #expect(try await bench.claimOne()?.precondition == .ifMatch("\"2\""))
        #expect(await bench.queue.serverTag(forDelivered: first.tag, of: first.lane) == "\"2\"")
    }

    @Test("after a restart the tag that a delivered edit got is found by the edit's own, without a search")
    func tagAfterRestart() async throws {
        func delivered(_ operation: Operation, etag: String) async throws {
            let answer = KeptAnswer(status: 200, fields: ["ETag": etag])
            try await bench.queue.record(
                .delivered(answer: answer, newTarget: nil, newBase: Base(etag: etag), copies: []), of: operation.id)
        }
        let first = try await bench.write(.put, "/items/1", #"{"v":1}"#)
        _ = try await bench.claimOne()
        try await delivered(first, etag: "\"1\"")
        let second = try await bench.write(.put, "/items/1", #"{"v":2}"#)
        _ = try await bench.claimOne()
        try await bench.queue.record(.failed(reason: "status", answer: nil), of: second.id)
        let body = try await bench.store.makeContent(Array(#"{"v":3}"#.utf8), for: .operation)
        let edited = try await bench.queue.edit(second.id, fields: nil, body: body)
        #expect(edited.tag != second.tag)
        let claimed = try #require(try await bench.claimOne())
        try await delivered(claimed, etag: "\"3\"")
        let queue = try await bench.restarted()
        #expect(await queue.serverTag(forDelivered: first.tag, of: first.lane) == "\"1\"")
        #expect(await queue.serverTag(forDelivered: edited.tag, of: first.lane) == "\"3\"")
        #expect(await queue.serverTag(forDelivered: second.tag, of: first.lane) == nil)
        let other = EntryKey(partition: PartitionID(high: 1, low: 2), target: first.lane.target)
        let unread = try await bench.restarted()
        #expect(await unread.serverTag(forDelivered: first.tag, of: other) == nil)
        for tag in ["\"hf-0123456789abcdef0123456789abcdef\"", "\"hf-", "\"hf-\"", IDs.tag(of: OperationID("x"))] {
            #expect(await queue.serverTag(forDelivered: tag, of: first.lane) == nil)
        }
        #expect(bench.store.operationPages == 0)
    }

    /// Records an edit that the origin took without naming a version, which nobody looked for, with another edit behind it or not.
    private func deliverUnseen(followedBy policy: Policy?) async throws -> OperationState? {
        let first = try await bench.write(.put, "/items/1", #"{"v":1}"#)
        _ = try await bench.claimOne()
        if let policy { try await bench.write(.put, "/items/1", #"{"v":2}"#, policy: policy) }
        let outcome = DeliveryOutcome.delivered(
            answer: nil, newTarget: nil, newBase: .unknown, copies: [], isUnseen: true)
        #expect(await bench.queue.record([(first.id, outcome)]).isEmpty)
        return try await bench.store.operation(first.id)?.state
    }

    @Test("an edit that came while the one before was answered without a version is guarded by what a look finds")
    func unseenIsLookedAt() async throws {
        #expect(try await deliverUnseen(followedBy: Policy()) == .unknown)
        #expect(try await bench.claimOne() == nil)
        bench.clock.advance(by: bench.settings.current.settle)
        let claim = try #require(try await bench.queue.claim(limit: 8, now: bench.clock.now) { _ in nil }.first)
        #expect(claim.mustVerify)
        try await bench.deliver(claim.operation.id, etag: "\"1\"")
        #expect(try await bench.claimOne()?.precondition == .ifMatch("\"1\""))
    }

    @Test("no look is needed where nothing follows, or what follows wins over any version")
    func unseenIsDelivered() async throws {
        #expect(try await deliverUnseen(followedBy: nil) == .delivered)
        var wins = Policy()
        wins.conflictResolutionPolicy = .clientWins
        #expect(try await deliverUnseen(followedBy: wins) == .delivered)
    }

    /// Delivers the first of two edits, after which the origin shows what neither knew.
    private func deliverBeforeUnseen(_ policy: ConflictResolutionPolicy) async throws -> OperationID {
        var policies = Policy()
        policies.conflictResolutionPolicy = policy
        let first = try await bench.write(.put, "/items/1", #"{"v":1}"#, policy: policies)
        _ = try await bench.claimOne()
        let second = try await bench.write(.put, "/items/1", #"{"v":2}"#, policy: policies)
        let content = try await bench.store.makeContent(Array(#"{"v":9}"#.utf8), for: .operation)
        let unseen = ConflictVersion(etag: "\"9\"", mediaType: "application/json", content: content)
        try await bench.queue.record(
            .delivered(
                answer: nil, newTarget: nil, newBase: Base(etag: "\"9\"", content: content), copies: [],
                unseen: unseen), of: first.id)
        return second.id
    }

    @Test("after a restart too an edit never overwrites a version that its user had not seen")
    func unseenVersion() async throws {
        let id = try await deliverBeforeUnseen(.preserveConflict)
        let queue = try await bench.restarted()
        #expect(try await queue.claim(limit: 8, now: bench.clock.now) { _ in nil }.isEmpty)
        let operation = try #require(queue.operation(id))
        #expect(operation.state == .conflict)
        let conflict = try #require(queue.conflict(of: operation.lane))
        #expect(operation.conflictID == conflict.id)
        #expect(try await bench.text(conflict.base?.content) == #"{"v":1}"#)
        #expect(try await bench.text(conflict.client.content) == #"{"v":2}"#)
        #expect(try await bench.text(conflict.server?.content) == #"{"v":9}"#)
    }

    @Test("SERVER_WINS drops an edit behind which the origin shows another version")
    func unseenVersionWins() async throws {
        let id = try await deliverBeforeUnseen(.serverWins)
        #expect(bench.queue.operation(id) == nil)
        #expect(try await bench.store.operation(id)?.state == .cancelled)
        #expect(bench.queue.conflict(of: QueueBench.key("/items/1")) == nil)
    }

    @Test("CLIENT_WINS goes on over another version, guarded by its tag no longer")
    func unseenVersionLoses() async throws {
        let id = try await deliverBeforeUnseen(.clientWins)
        let claimed = try #require(try await bench.claimOne())
        #expect(claimed.id == id && claimed.precondition == Precondition.none)
    }

    @Test("O09: attempts have the same body and key")
    func sameAttempt() async throws {
        try await bench.write(.put, "/items/1", #"{"v":1}"#, key: "k")
        let first = try #require(try await bench.claimOne())
        try await bench.queue.record(.retry(at: bench.clock.now + 1, answer: nil, reason: nil), of: first.id)
        #expect(try await bench.claimOne() == nil)
        #expect(bench.queue.nextDue(now: bench.clock.now) == bench.clock.now + 1)
        bench.clock.advance(by: 1)
        let second = try #require(try await bench.claimOne())
        #expect(second.body == first.body && second.idempotencyKey == "k" && second.keyRound == first.keyRound)
        #expect(second.attempts == 2)
    }

    @Test("a clock that is set back by years delays no attempt, while it runs and over a restart")
    func clockSetBack() async throws {
        for target in ["/a", "/b"] { try await bench.write(.put, target, "{}") }
        for _ in 1...2 {
            let sent = try #require(try await bench.claimOne())
            try await bench.queue.record(.retry(at: bench.clock.now + 60, answer: nil, reason: nil), of: sent.id)
        }
        bench.clock.advance(by: -10 * 365 * 86_400)
        let queue = try await bench.restarted()
        #expect(queue.unfinished().allSatisfy { $0.nextAttemptAt == nil })
        #expect(try await bench.queue.claim(limit: 8, now: bench.clock.now).count == 2)
    }

    @Test("a clock that is set forward and right again by an hour keeps what the origin asked for")
    func shortStep() async throws {
        try await bench.write(.put, "/a", "{}")
        let sent = try #require(try await bench.claimOne())
        try await bench.queue.record(.retry(at: bench.clock.now + 7_200, answer: nil, reason: nil), of: sent.id)
        bench.clock.advance(by: -3_600)
        #expect(try await bench.claimOne() == nil)
        bench.clock.advance(by: 3 * 3_600)
        #expect(try await bench.claimOne() != nil)
    }

    @Test("Q11: a failed attempt leaves the edit in view")
    func stillShown() async throws {
        try await bench.read("/items/1", #"{"v":1}"#, etag: "\"1\"")
        try await bench.write(.put, "/items/1", #"{"v":2}"#)
        let sent = try #require(try await bench.claimOne())
        try await bench.queue.record(.retry(at: bench.clock.now + 1, answer: nil, reason: nil), of: sent.id)
        try await bench.read("/items/1", #"{"v":1}"#, etag: "\"1\"")
        #expect(try await bench.shown("/items/1") == #"{"v":2}"#)
    }

    @Test("after a restart what was sending is unknown and looked at first")
    func restart() async throws {
        try await bench.write(.put, "/items/1", "{}")
        _ = try await bench.claimOne()
        let queue = try await bench.restarted()
        #expect(try await queue.claim(limit: 1, now: bench.clock.now).first?.mustVerify == true)
    }

    @Test("an attempt that never left does not count")
    func notSent() async throws {
        let operation = try await bench.write(.put, "/items/1", "{}")
        _ = try await bench.claimOne()
        try await bench.queue.record(.notSent, of: operation.id)
        let after = try #require(bench.queue.operation(operation.id))
        #expect(after.state == .pending && after.attempts == 0 && !after.wasSent)
    }

    @Test("what waits for a credential is claimed once one arrives")
    func credential() async throws {
        let operation = try await bench.write(.put, "/items/1", "{}")
        _ = try await bench.claimOne()
        try await bench.queue.record(.waitsForCredential, of: operation.id)
        #expect(try await bench.claimOne() == nil)
        bench.queue.credentialArrived(for: .none)
        #expect(try await bench.claimOne()?.id == operation.id)
    }

    @Test("O13: after a failure a repeat tries the same write again; after success its answer is known")
    func keyAfterOutcome() async throws {
        let operation = try await bench.write(.put, "/items/1", "{}", key: "k")
        _ = try await bench.claimOne()
        try await bench.queue.record(.failed(reason: "status", answer: nil), of: operation.id)
        let again = try await bench.write(.put, "/items/1", "{}", key: "k")
        #expect(again.id == operation.id && again.state == .pending)
        _ = try await bench.claimOne()
        try await bench.deliver(again.id)
        let found = try await bench.queue.lookUp(key: "k", fingerprint: again.fingerprints[0], of: .none)
        guard case .answered(let answer, _) = found else {
            Issue.record("the key has no answer")
            return
        }
        #expect(answer.status == 200)
    }

    @Test("who waits is told the outcome, or at the deadline how it stands")
    func waiting() async throws {
        let operation = try await bench.write(.put, "/items/1", "{}")
        let deadline = bench.clock.now + 5
        async let outcome = bench.queue.outcome(of: operation.id, deadline: deadline)
        _ = try await bench.claimOne()
        try await bench.deliver(operation.id)
        #expect(await outcome?.state == .delivered)
        #expect(bench.events.states(of: operation.id) == [.pending, .sending, .delivered])

        let other = try await bench.write(.put, "/items/2", "{}")
        async let late = bench.queue.outcome(of: other.id, deadline: deadline)
        await eventually { bench.clock.sleeperCount > 0 }
        bench.clock.advance(by: 5)
        #expect(await late?.state == .pending)
    }

    @Test("a finished operation keeps no bodies", arguments: ["delivered", "superseded", "cancelled"])
    func noBodies(state: String) async throws {
        try await bench.read("/items/1", "{\"v\":0}", etag: "\"1\"")
        let operation = try await bench.write(.put, "/items/1", "{\"v\":1}")
        switch state {
        case "superseded": try await bench.write(.put, "/items/1", "{\"v\":2}")
        case "cancelled": _ = try await bench.queue.discard(operation.id, cascade: false)
        default:
            _ = try await bench.claimOne()
            try await bench.deliver(operation.id, etag: "\"2\"")
        }
        let kept = try #require(try await bench.store.operation(operation.id))
        #expect(kept.state.rawValue == state)
        #expect(kept.body == nil && kept.effective == nil && kept.base.content == nil)
        #expect(kept.base.etag == "\"1\"")
    }

    @Test("what a list showed is kept with each create claimed there, and only with the first claim")
    func membersBefore() async throws {
        try await bench.write(.post, "/items", "{\"v\":1}")
        let now = bench.clock.now
        let first = try await bench.queue.claim(limit: 1, now: now) { _ in .marks([1], at: now) }
        let id = try #require(first.first?.operation.id)
        #expect(try await bench.store.operation(id)?.membersBefore == .marks([1], at: now))
        try await bench.queue.record(.retry(at: now, answer: nil, reason: nil), of: id)
        let second = try await bench.queue.claim(limit: 1, now: now) { _ in .marks([2], at: now) }
        #expect(second.first?.operation.membersBefore == .marks([1], at: now))
    }

    @Test("what is kept of a list after the claim survives a restart")
    func keptMembers() async throws {
        let operation = try await bench.write(.post, "/items", "{\"v\":1}")
        _ = try await bench.claimOne()
        try await bench.queue.keep(.unreadable, of: operation.id)
        let queue = try await bench.restarted()
        let claim = try #require(try await queue.claim(limit: 1, now: bench.clock.now) { _ in .notRead }.first)
        #expect(claim.mustVerify)
        #expect(claim.operation.membersBefore == .unreadable)
    }
}
