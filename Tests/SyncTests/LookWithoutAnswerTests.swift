import CacheCore
import HTTPModel
import Sync
import Testing

/// A look that brings nothing, before and after a write (design 5, "Once in effect"; 8).
@Suite("A look without an answer")
struct LookWithoutAnswerTests {
    private static func unreachable() -> FakeOrigin {
        FakeOrigin { _ in .failure(.unreachable(reason: "refused", isTLS: false)) }
    }

    @Test(
        "without a connection an operation is as if never tried, and the service is offline",
        arguments: [OperationKind.edit, .create], [true, false])
    func noConnection(kind: OperationKind, isUnknown: Bool) async {
        let fixture = Fixture(Self.unreachable())
        var operation = Fixture.operation(kind == .create ? .post : .put, "/items", kind: kind)
        if isUnknown, kind == .create { operation.membersBefore = .marks([], at: fixture.context.clock.now) }
        guard case .notSent = await fixture.attempt(operation, attempts: 7, verify: isUnknown) else {
            Issue.record("it counts as an attempt")
            return
        }
        #expect(!fixture.network.state.isOnline)
    }

    @Test("a portal's answer to the look is no connection either")
    func portal() async {
        let origin = FakeOrigin { _ in .success((302, ["Location": "http://login.test/"], "")) }
        let fixture = Fixture(origin)
        guard case .notSent = await fixture.attempt(Fixture.operation(), attempts: 2, verify: true) else {
            Issue.record("it counts as an attempt")
            return
        }
        #expect(!fixture.network.state.isOnline)
    }

    @Test("where the origin refuses the credential, the look waits for another")
    func refusedCredential() async {
        let fixture = Fixture(FakeOrigin { _ in .success((401, [:], "")) })
        guard case .waitsForCredential = await fixture.attempt(Fixture.operation(), attempts: 2, verify: true) else {
            Issue.record("does not wait")
            return
        }
    }

    @Test(
        "an origin that can't be read now is asked again after growing pauses, and none of it is an attempt",
        arguments: [(OperationKind.edit, true, [2.0, 2, 4, 8]), (.create, false, [0.5, 1, 2, 4])])
    func busy(kind: OperationKind, isUnknown: Bool, expected: [Double]) async {
        let origin = FakeOrigin { _ in .success((503, [:], "")) }
        let fixture = Fixture(origin)
        fixture.settings.update { $0.maxAttempts = 1 }
        let operation = Fixture.operation(kind == .create ? .post : .put, "/items", kind: kind)
        var pauses: [Double] = []
        for _ in 1...4 {
            let outcome = await fixture.attempt(operation, attempts: isUnknown ? 2 : 1, verify: isUnknown)
            guard case .lookedInVain(let time) = outcome else {
                Issue.record("\(outcome)")
                return
            }
            pauses.append(time - fixture.context.clock.now)
        }
        #expect(pauses == expected)
        #expect(origin.methods == ["GET", "GET", "GET", "GET"])
    }

    @Test("a write without an answer settles first")
    func settles() async {
        let fixture = Fixture(FakeOrigin { _ in .failure(.noAnswer(reason: "closed")) })
        let outcome = await fixture.attempt(Fixture.operation())
        guard case .unknown(let time, nil, Reason.settle) = outcome else {
            Issue.record("\(outcome)")
            return
        }
        #expect(time == fixture.context.clock.now + fixture.settings.current.settle)
    }

    @Test("a clock that was set back since keeps no look waiting for longer than it takes to settle")
    func clockSetBack() async {
        let origin = FakeOrigin { _ in .success((200, ["ETag": "\"E2\""], "{}")) }
        let fixture = Fixture(origin)
        let start = fixture.context.clock.now
        var operation = Fixture.operation()
        operation.createdAt = start + 3600
        _ = await fixture.attempt(operation, attempts: 2, verify: true)
        #expect(!origin.sent.isEmpty)
        #expect(fixture.context.clock.now == start + fixture.settings.current.settle)
    }
}
