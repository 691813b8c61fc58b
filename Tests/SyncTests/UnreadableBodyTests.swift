import CacheCore
import HTTPModel
import Sync
import TestSupport
import Testing

/// A stored body that can't be read: not now, or never again (design 5, "Once in effect"; 14, 6).
@Suite("A stored body that can't be read")
struct UnreadableBodyTests {
    private let missing = Content(digest: Digest(bytes: [7]), length: 100_000, inline: nil)

    private func fixture(_ lack: StoreError, _ script: @escaping @Sendable (FakeOrigin.Sent) -> FakeOrigin.Reply)
        -> (Fixture, FakeOrigin)
    {
        let origin = FakeOrigin(script)
        let fixture = Fixture(origin)
        fixture.store.lack = lack
        return (fixture, origin)
    }

    @Test("a write whose bytes are lost has failed", arguments: [false, true])
    func lost(isOfASide: Bool) async {
        let loss = StoreError.corrupt(reason: "a body file is missing")
        let (fixture, origin) = fixture(isOfASide ? .side(.mirror, loss) : loss) { _ in .success((204, [:], "")) }
        guard case .failed(Reason.body, _) = await fixture.attempt(Fixture.operation(body: missing)) else {
            Issue.record("not failed")
            return
        }
        #expect(origin.sent.isEmpty)
    }

    @Test("a write whose bytes can't be read now is tried again, with what the origin said last", arguments: [1, 6])
    func notNow(attempts: Int) async {
        let (fixture, origin) = fixture(.failed(reason: "too many open files")) { _ in .success((204, [:], "")) }
        var operation = Fixture.operation(body: missing)
        operation.lastAnswer = KeptAnswer(status: 503, fields: [:])
        let outcome = await fixture.attempt(operation, attempts: attempts)
        guard case .retry(let time, let answer, Reason.body) = outcome else {
            Issue.record("\(outcome)")
            return
        }
        #expect(time - fixture.context.clock.now == (attempts == 1 ? 0.5 : 16))
        #expect(answer?.status == 503)
        #expect(origin.sent.isEmpty)
    }

    @Test(
        "where what a look needs can't be read now, nothing is decided",
        arguments: [StoreError.failed(reason: "too many open files"), .corrupt(reason: "a body file is missing")])
    func look(lack: StoreError) async {
        let (fixture, _) = fixture(lack) { _ in .success((200, ["ETag": "\"E2\""], #"{"a":3}"#)) }
        let operation = Fixture.operation(
            precondition: .ifMatch("\"E1\""), base: Base(etag: "\"E1\""), body: missing)
        switch (await fixture.attempt(operation, attempts: 2, verify: true), lack.isLoss) {
        case (.lookedInVain, false), (.conflict, true): break
        case (let outcome, _): Issue.record("\(outcome)")
        }
    }

    @Test("what was created is not looked for in vain where what was sent can't be read now")
    func create() async {
        let (fixture, origin) = fixture(.failed(reason: "too many open files")) { _ in
            .success((200, [:], #"[{"id":2,"a":3}]"#))
        }
        var operation = Fixture.operation(.post, "/items", kind: .create, body: missing)
        operation.membersBefore = .marks([], at: fixture.context.clock.now)
        guard case .lookedInVain = await fixture.attempt(operation, attempts: 2, verify: true) else {
            Issue.record("decided")
            return
        }
        #expect(origin.methods == ["GET"])
    }
}
