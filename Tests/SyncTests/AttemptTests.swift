import CacheCore
import HTTPModel
import Sync
import Synchronization
import Testing

@Suite struct AttemptTests {
    private let e1 = Precondition.ifMatch("\"E1\"")

    @Test("K01: a changed origin refuses the base's tag, and all three versions are kept")
    func preserved() async throws {
        let origin = FakeOrigin { sent in
            sent.method == .put
                ? .success((412, [:], "")) : .success((200, ["ETag": "\"E2\""], #"{"a":2}"#))
        }
        let fixture = Fixture(origin)
        let body = await fixture.content(#"{"a":3}"#)
        let base = Base(etag: "\"E1\"", content: await fixture.content(#"{"a":1}"#))
        let outcome = await fixture.attempt(Fixture.operation(precondition: e1, base: base, body: body))
        guard case .conflict(let conflict, _, _) = outcome else {
            Issue.record("\(outcome)")
            return
        }
        #expect(origin.sent[0].fields["If-Match"] == "\"E1\"")
        #expect(conflict.kind == .edited)
        #expect(conflict.base?.etag == "\"E1\"")
        #expect(conflict.client.content == body)
        #expect(conflict.server?.etag == "\"E2\"")
    }

    @Test(
        "an answer leaves a copy only where it shows what was sent",
        arguments: [(#"{"ok":true}"#, false), (#"{"a":3,"revision":7}"#, true)])
    func echo(answer: String, isKept: Bool) async throws {
        let origin = FakeOrigin { _ in .success((200, ["ETag": "\"E2\"", "Content-Type": "application/json"], answer)) }
        let fixture = Fixture(origin)
        let operation = Fixture.operation(
            precondition: e1, base: Base(etag: "\"E1\""), body: await fixture.content(#"{"a":3}"#))
        guard case .delivered(_, _, let base, let copies, _, _, _) = await fixture.attempt(operation) else {
            Issue.record("not delivered")
            return
        }
        #expect(base.etag == "\"E2\"")
        #expect(copies.contains { if case .putCopy = $0 { true } else { false } } == isKept)
    }

    @Test("K07: CLIENT_WINS against an origin that always moves on ends in a kept conflict")
    func clientWinsEnds() async {
        let count = Mutex(0)
        let origin = FakeOrigin { sent in
            if sent.method == .put { return .success((412, [:], "")) }
            let tag = count.withLock { count in
                count += 1
                return count
            }
            return .success((200, ["ETag": "\"G\(tag)\""], "{}"))
        }
        let fixture = Fixture(origin)
        var policy = Policy()
        policy.conflictResolutionPolicy = .clientWins
        var operation = Fixture.operation(precondition: e1, base: Base(etag: "\"E1\""), policy: policy)
        var tags: [Precondition] = []
        var attempts = 0
        while attempts < 10 {
            attempts += 1
            guard
                case .rebased(let precondition, let base) = await fixture.attempt(operation, attempts: attempts)
            else { break }
            operation.precondition = precondition
            operation.base = base
            tags.append(precondition)
        }
        #expect(tags == [.ifMatch("\"G1\""), .ifMatch("\"G2\""), .ifMatch("\"G3\"")])
        #expect(attempts == 4)
    }

    @Test("K15: a tag with the ending of a content coding is tried once without")
    func encodedTag() async {
        let origin = FakeOrigin { sent in
            if sent.method == .get { return .success((200, ["ETag": "\"abc-gzip\""], "{}")) }
            return sent.fields["If-Match"] == "\"abc\"" ? .success((204, [:], "")) : .success((412, [:], ""))
        }
        let fixture = Fixture(origin)
        var operation = Fixture.operation(
            precondition: .ifMatch("\"abc-gzip\""), base: Base(etag: "\"abc-gzip\""))
        guard case .rebased(let precondition, _) = await fixture.attempt(operation) else {
            Issue.record("not tried again")
            return
        }
        #expect(precondition == .ifMatch("\"abc\""))
        operation.precondition = precondition
        guard case .delivered = await fixture.attempt(operation, attempts: 2) else {
            Issue.record("not delivered")
            return
        }
    }

    @Test("K21: what was deleted at the origin is not made again", arguments: [404, 410])
    func deletedAtOrigin(status: Int) async {
        let fixture = Fixture(FakeOrigin { _ in .success((status, [:], "")) })
        let outcome = await fixture.attempt(Fixture.operation(precondition: e1, base: Base(etag: "\"E1\"")))
        guard case .conflict(let conflict, _, _) = outcome else {
            Issue.record("\(outcome)")
            return
        }
        #expect(conflict.kind == .deletedAtOrigin)
        #expect(conflict.server?.isAbsent == true)
    }

    @Test("K29: a refused write stops, with the answer kept")
    func poison() async {
        let fixture = Fixture(FakeOrigin { _ in .success((400, [:], "no")) })
        guard case .failed("status", let answer) = await fixture.attempt(Fixture.operation()) else {
            Issue.record("not failed")
            return
        }
        #expect(answer?.status == 400)
        #expect(answer?.content?.length == 2)
    }

    @Test("X13: a write whose answer was lost is looked at before it is sent again")
    func lostAnswer() async {
        let isSecond = Mutex(false)
        let origin = FakeOrigin { sent in
            if sent.method == .get { return .success((200, ["ETag": "\"E2\""], #"{"a":3,"rev":2}"#)) }
            return isSecond.withLock { $0 } ? .success((204, [:], "")) : .failure(.noAnswer(reason: "closed"))
        }
        let fixture = Fixture(origin)
        let base = Base(etag: "\"E1\"", content: await fixture.content(#"{"a":1}"#))
        let operation = Fixture.operation(
            precondition: e1, base: base, body: await fixture.content(#"{"a":3}"#))
        guard case .unknown = await fixture.attempt(operation) else {
            Issue.record("not unknown")
            return
        }
        guard
            case .delivered(_, _, let newBase, _, _, _, _) = await fixture.attempt(operation, attempts: 2, verify: true)
        else {
            Issue.record("not delivered")
            return
        }
        #expect(newBase.etag == "\"E2\"")
        #expect(origin.methods == ["PUT", "GET"])
    }

    @Test("Q09: an unknown write whose target is still the base is sent again with the same key")
    func sentAgain() async {
        let origin = FakeOrigin { sent in
            sent.method == .get ? .success((200, ["ETag": "\"E1\""], "{}")) : .success((204, [:], ""))
        }
        let operation = Fixture.operation(precondition: e1, base: Base(etag: "\"E1\""))
        guard case .delivered = await Fixture(origin).attempt(operation, attempts: 2, verify: true) else {
            Issue.record("not delivered")
            return
        }
        #expect(origin.methods == ["GET", "PUT"])
        #expect(origin.sent[1].fields["Idempotency-Key"] == "KEY")
    }

    @Test(
        "what the target shows instead of what was sent is told, for the edit that waits behind",
        arguments: [true, false])
    func otherBytes(showsOther: Bool) async throws {
        let origin = FakeOrigin { sent in
            sent.method == .put
                ? .success((204, [:], "")) : .success((200, ["ETag": "\"9\""], showsOther ? #"{"v":9}"# : #"{"v":1}"#))
        }
        var behind = Fixture.operation(id: "op2")
        behind.sequence = 2
        let fixture = Fixture(origin, queue: FakeQueue([behind]))
        let sent = Fixture.operation(body: await fixture.content(#"{"v":1}"#))
        guard case .delivered(_, _, let newBase, _, _, let unseen, _) = await fixture.attempt(sent) else {
            Issue.record("not delivered")
            return
        }
        #expect(newBase.etag == "\"9\"")
        #expect((unseen?.etag == "\"9\"") == showsOther)
    }

    @Test(
        "where the answer names no version and the target can't be read now, that is told; who can never read it goes on",
        arguments: [(503, true), (401, true), (405, false)])
    func unseen(status: Int, isUnseen: Bool) async throws {
        let origin = FakeOrigin { sent in sent.method == .put ? .success((204, [:], "")) : .success((status, [:], "")) }
        var behind = Fixture.operation(id: "op2")
        behind.sequence = 2
        for queue in [FakeQueue([behind]), FakeQueue([])] {
            let fixture = Fixture(origin, queue: queue)
            let sent = Fixture.operation(body: await fixture.content(#"{"v":1}"#))
            guard case .delivered(_, _, .unknown, _, _, nil, let told) = await fixture.attempt(sent) else {
                Issue.record("not delivered")
                return
            }
            #expect(told == (queue.unfinished().isEmpty || isUnseen))
        }
    }

    @Test("O17: Retry-After is obeyed", arguments: ["30", "Tue, 14 Nov 2023 22:13:50 GMT"])
    func retryAfter(value: String) async {
        let fixture = Fixture(FakeOrigin { _ in .success((503, ["Retry-After": value], "")) })
        guard case .retry(let at, _, "retry-after") = await fixture.attempt(Fixture.operation()) else {
            Issue.record("no retry")
            return
        }
        #expect(at == 1_700_000_030)
    }

    @Test("X21: a 307 within the origin is followed with the whole body")
    func redirect() async {
        let origin = FakeOrigin { sent in
            sent.target == "/moved" ? .success((204, [:], "")) : .success((307, ["Location": "/moved"], ""))
        }
        let fixture = Fixture(origin)
        let text = String(repeating: "x", count: 5 << 20)
        guard case .delivered = await fixture.attempt(Fixture.operation(body: await fixture.content(text))) else {
            Issue.record("not delivered")
            return
        }
        #expect(origin.sent.last?.body.utf8.count == text.utf8.count)
    }

    @Test("U03: a write waits for a credential of its own identity")
    func foreignCredential() async {
        let origin = FakeOrigin { _ in .success((204, [:], "")) }
        let fixture = Fixture(origin, secret: { "token-of-b" })
        fixture.settings.update {
            $0.credentials = [CredentialSource(header: "Authorization", source: .file("b"))]
        }
        let operation = Fixture.operation(partition: PartitionID(high: 9, low: 9))
        guard case .waitsForCredential = await fixture.attempt(operation) else {
            Issue.record("does not wait")
            return
        }
        #expect(origin.sent.isEmpty)
    }

    @Test("U01: after 401 the renewed value of the source is used")
    func renewed() async {
        let reads = Mutex(0)
        let origin = FakeOrigin { sent in
            sent.fields["Authorization"] == "T2" ? .success((204, [:], "")) : .success((401, [:], ""))
        }
        let fixture = Fixture(
            origin,
            secret: {
                reads.withLock { count in
                    count += 1
                    return count == 1 ? "T1" : "T2"
                }
            })
        fixture.settings.update {
            $0.credentials = [CredentialSource(header: "Authorization", source: .file("a"))]
        }
        let operation = Fixture.operation(partition: PartitionID(high: 1, low: 2))
        guard case .retry(_, _, nil) = await fixture.attempt(operation),
            case .delivered = await fixture.attempt(operation, attempts: 2)
        else {
            Issue.record("not delivered")
            return
        }
    }

    @Test("what was written without a credential is tried again where the origin asks for one", arguments: [401, 407])
    func anybodys(status: Int) async {
        let fixture = Fixture(FakeOrigin { _ in .success((status, [:], "")) })
        guard case .retry(let due, let answer, nil) = await fixture.attempt(Fixture.operation()) else {
            Issue.record("not tried again")
            return
        }
        #expect(due > fixture.context.clock.now && answer?.status == status)
    }

    @Test("U05: where the renewed value can't be had, the write waits and stays")
    func noRenewal() async {
        let fixture = Fixture(FakeOrigin { _ in .success((401, [:], "")) }, secret: { nil })
        fixture.settings.update {
            $0.credentials = [CredentialSource(header: "Authorization", source: .file("a"))]
        }
        guard case .waitsForCredential = await fixture.attempt(Fixture.operation()) else {
            Issue.record("does not wait")
            return
        }
    }

    @Test("U01: a renewed token of the same identity is used where the old one is refused")
    func renewedByClient() async {
        let one: HTTPFields = ["Authorization": "T1", "X-User": "ann"]
        let two: HTTPFields = ["Authorization": "T2", "X-User": "ann"]
        let partition = PartitionID(high: 1, low: 2)
        let origin = FakeOrigin { sent in
            sent.fields["Authorization"] == "T2" ? .success((204, [:], "")) : .success((401, [:], ""))
        }
        let fixture = Fixture(origin)
        fixture.credentials.accepted(two, for: partition)
        fixture.credentials.accepted(one, for: partition)
        let operation = Fixture.operation(partition: partition)
        guard case .retry(_, _, nil) = await fixture.attempt(operation),
            case .delivered = await fixture.attempt(operation, attempts: 2)
        else {
            Issue.record("not delivered")
            return
        }
        #expect(origin.sent.map { $0.fields["Authorization"] } == ["T1", "T2"])
    }

    @Test("U03: an operation of one identity is never sent with the credential of another")
    func anothersCredential() async {
        let origin = FakeOrigin { _ in .success((204, [:], "")) }
        let fixture = Fixture(origin)
        fixture.credentials.accepted(["Authorization": "B"], for: PartitionID(high: 1, low: 3))
        let operation = Fixture.operation(partition: PartitionID(high: 1, low: 2))
        guard case .waitsForCredential = await fixture.attempt(operation) else {
            Issue.record("does not wait")
            return
        }
        #expect(origin.sent.isEmpty)
    }
}
