import CacheCore
import HTTPModel
import Sync
import Testing

/// An origin that ends the connection on one write, always (design 5, "Retry").
@Suite("A write that never gets an answer")
struct PoisonWriteTests {
    private func fixture(isIdempotent: Bool, maxAttempts: Int? = nil) -> (Fixture, FakeOrigin) {
        let origin = FakeOrigin { sent in
            sent.method == .get ? .success((404, [:], "")) : .failure(.noAnswer(reason: "closed"))
        }
        let fixture = Fixture(origin)
        fixture.settings.update {
            $0.idempotentOrigin = isIdempotent
            $0.maxAttempts = maxAttempts
        }
        return (fixture, origin)
    }

    @Test(
        "it is sent again after growing pauses, and not before it has settled",
        arguments: [(false, [2.0, 2, 2, 4, 8, 16, 32, 60]), (true, [0.5, 1, 2, 4, 8, 16, 32, 60])])
    func pauses(isIdempotent: Bool, expected: [Double]) async {
        let (fixture, origin) = fixture(isIdempotent: isIdempotent)
        var pauses: [Double] = []
        for attempts in 1...8 {
            let outcome = await fixture.attempt(Fixture.operation(), attempts: attempts, verify: attempts > 1)
            guard case .unknown(let time, _, _) = outcome else {
                Issue.record("\(outcome)")
                return
            }
            pauses.append(time - fixture.context.clock.now)
        }
        #expect(pauses == expected)
        #expect(origin.methods.count { $0 == "PUT" } == 8)
    }

    @Test("after maxAttempts it has failed and is not sent any more", arguments: [true, false])
    func limited(isIdempotent: Bool) async {
        let (fixture, origin) = fixture(isIdempotent: isIdempotent, maxAttempts: 2)
        for attempts in 1...2 {
            guard case .unknown = await fixture.attempt(Fixture.operation(), attempts: attempts, verify: attempts > 1)
            else {
                Issue.record("given up after \(attempts)")
                return
            }
        }
        let last = await fixture.attempt(Fixture.operation(), attempts: 3, verify: true)
        guard case .failed(Reason.maxAttempts, _) = last else {
            Issue.record("\(last)")
            return
        }
        #expect(origin.methods.count { $0 == "PUT" } == 2)
    }

    @Test("what the last attempt brought about is seen before it is given up")
    func seenAtLast() async {
        let origin = FakeOrigin { _ in .success((200, ["ETag": "\"E2\""], #"{"a":3}"#)) }
        let fixture = Fixture(origin)
        fixture.settings.update { $0.maxAttempts = 2 }
        let operation = Fixture.operation(body: await fixture.content(#"{"a":3}"#))
        guard case .delivered = await fixture.attempt(operation, attempts: 3, verify: true) else {
            Issue.record("not delivered")
            return
        }
        #expect(origin.methods == ["GET"])
    }
}
