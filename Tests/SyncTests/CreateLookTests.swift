import CacheCore
import HTTPModel
import Sync
import Synchronization
import TestSupport
import Testing

/// A list at /items whose members a test sets, and that takes POSTs as it is told.
private final class Collection: Sendable {
    private let state: Mutex<(list: String, listStatus: Int, post: FakeOrigin.Reply)>

    init(_ list: String, post: FakeOrigin.Reply = .failure(.noAnswer(reason: "closed"))) {
        state = Mutex((list, 200, post))
    }

    func show(_ list: String, status: Int = 200) { state.withLock { ($0.list, $0.listStatus) = (list, status) } }

    var origin: FakeOrigin {
        FakeOrigin { [self] sent in
            state.withLock { sent.method == .post ? $0.post : .success(($0.listStatus, [:], $0.list)) }
        }
    }
}

@Suite("The look after a create")
struct CreateLookTests {
    private let collection = Collection(#"[{"id":1}]"#)

    /// A create of `{"a":3}` that was lost: sent by one process, looked at by another that knows only what is on disk.
    private func lost(_ queue: FakeQueue) async -> Operation {
        let fixture = Fixture(collection.origin, queue: queue)
        var operation = Fixture.operation(
            .post, "/items", kind: .create, body: await fixture.content(#"{"a":3}"#))
        guard case .unknown = await fixture.attempt(operation) else {
            Issue.record("not unknown")
            return operation
        }
        operation.membersBefore = queue.before(operation.id)
        return operation
    }

    private func look(at operation: Operation, in fixture: Fixture) async -> DeliveryOutcome {
        await fixture.attempt(operation, attempts: 2, verify: true)
    }

    @Test("What the list showed is kept before the first byte leaves")
    func keptBefore() async throws {
        let queue = FakeQueue()
        let operation = await lost(queue)
        guard case .marks(let marks, _)? = operation.membersBefore else {
            Issue.record("nothing was kept")
            return
        }
        #expect(marks.count == 1)
    }

    @Test("Exactly one new member that holds what was sent is the create's, after a restart too")
    func found() async throws {
        let operation = await lost(FakeQueue())
        collection.show(#"[{"id":1},{"id":2,"a":3}]"#)
        let origin = collection.origin
        guard case .delivered(_, let target, _, _, let name, _, _) = await look(at: operation, in: Fixture(origin))
        else {
            Issue.record("not delivered")
            return
        }
        #expect(target?.text == "/items/2")
        #expect(name == "2")
        #expect(origin.methods == ["GET"])
    }

    @Test("A member that bears no id is the create's, but has no target")
    func foundWithoutID() async throws {
        collection.show(#"[{"a":1}]"#)
        let operation = await lost(FakeQueue())
        collection.show(#"[{"a":1},{"a":3}]"#)
        let origin = collection.origin
        guard case .delivered(_, nil, _, _, let name?, _, _) = await look(at: operation, in: Fixture(origin)) else {
            Issue.record("not delivered, or under a target")
            return
        }
        #expect(name == #"{"a":3}"#)
        #expect(origin.methods == ["GET"])
    }

    @Test("Without a new member it is sent again")
    func sentAgain() async throws {
        let operation = await lost(FakeQueue())
        let origin = collection.origin
        _ = await look(at: operation, in: Fixture(origin))
        #expect(origin.methods == ["GET", "POST"])
    }

    @Test("A new member that another operation made is not taken for it")
    func anothers() async throws {
        let operation = await lost(FakeQueue())
        collection.show(#"[{"id":1},{"id":2,"a":3}]"#)
        let origin = collection.origin
        let fixture = Fixture(origin)
        var other = Fixture.operation(id: "op2", .post, "/items", kind: .create)
        other.state = .delivered
        other.memberName = "2"
        try await fixture.store.commit([.putOperation(other)], durable: true)
        _ = await look(at: operation, in: fixture)
        #expect(origin.methods == ["GET", "POST"])
    }

    @Test(
        "What can't be told is stopped as outcome-unknown",
        arguments: [#"[{"id":1},{"id":2,"a":3},{"id":3,"a":3}]"#, #"[{"id":1},{"id":2}]"#, "unreadable"])
    func stopped(list: String) async throws {
        let operation = await lost(FakeQueue())
        collection.show(list, status: list == "unreadable" ? 403 : 200)
        let origin = collection.origin
        guard case .failed("outcome-unknown", _) = await look(at: operation, in: Fixture(origin)) else {
            Issue.record("not stopped")
            return
        }
        #expect(origin.methods == ["GET"])
    }

    @Test("What was claimed and never left is sent, not held")
    func neverLeft() async throws {
        var operation = await lost(FakeQueue())
        operation.membersBefore = nil
        collection.show(#"[{"id":1},{"id":2,"a":3}]"#)
        let origin = collection.origin
        _ = await look(at: operation, in: Fixture(origin))
        #expect(origin.methods == ["GET", "POST"])
    }

    @Test("Where the receipts of others may be gone, nothing is decided")
    func tooOld() async throws {
        var operation = await lost(FakeQueue())
        operation.membersBefore = .marks([0x31], at: 0)
        let origin = collection.origin
        guard case .failed("outcome-unknown", _) = await look(at: operation, in: Fixture(origin)) else {
            Issue.record("not stopped")
            return
        }
        #expect(origin.methods.isEmpty)
    }
}
