import CacheCore
import HTTPModel
import Sync
import TestSupport
import Testing

@Suite struct ResolverTests {
    /// One that is kept.
    private func conflict(
        in fixture: Fixture, server: ConflictVersion? = ConflictVersion(etag: "\"E3\"")
    ) async throws -> Conflict {
        let conflict = Conflict(
            id: "c1", key: EntryKey(partition: .none, target: Target(unchecked: "/items/1")), kind: .edited,
            operationID: nil, method: .put, fields: [:], base: nil,
            client: ConflictVersion(mediaType: "application/json", content: await fixture.content("{}")),
            server: server, serverIsLatest: false, originAnswer: nil, policy: Policy(), createdAt: 0)
        try await fixture.store.commit([.putConflict(conflict)], durable: true)
        return conflict
    }

    @Test("a resolution that meets a newer version is the same conflict with that version")
    func movedAgain() async throws {
        let origin = FakeOrigin { sent in
            sent.method == .get ? .success((200, ["ETag": "\"E3\""], "{}")) : .success((412, [:], ""))
        }
        let queue = FakeQueue()
        let fixture = Fixture(origin, queue: queue)
        let deliverer = Deliverer(fixture.context)
        let conflict = try await conflict(in: fixture)
        guard case .conflictAgain(let newer) = try await deliverer.resolve(conflict, by: .keepClient) else {
            Issue.record("not a conflict again")
            return
        }
        #expect(newer.id == "c1" && newer.revision == 2 && newer.server?.etag == "\"E3\"")
        #expect(origin.sent[1].fields["If-Match"] == "\"E3\"")
        try await fixture.store.commit([.putConflict(newer)], durable: true)
        fixture.network.force(offline: true)
        guard case .queued = try await deliverer.resolve(newer, by: .keepClient) else {
            Issue.record("not queued")
            return
        }
        #expect(queue.accepted[0].kind == .resolution && queue.accepted[0].precondition == .ifMatch("\"E3\""))
    }

    @Test(
        "a version that the conflict does not show is shown before a decision overwrites it",
        arguments: [nil, ConflictVersion(etag: "\"E2\""), ConflictVersion(isAbsent: true)],
        [HTTPMethod.put, .delete])
    func unseen(shown: ConflictVersion?, method: HTTPMethod) async throws {
        let origin = FakeOrigin { sent in
            sent.method == .get ? .success((200, ["ETag": "\"E3\""], "{}")) : .success((204, [:], ""))
        }
        let queue = FakeQueue()
        let fixture = Fixture(origin, queue: queue)
        var conflict = try await conflict(in: fixture, server: shown)
        if method == .delete { conflict.client = ConflictVersion(isAbsent: true) }
        let deliverer = Deliverer(fixture.context)
        guard case .conflictAgain(let newer) = try await deliverer.resolve(conflict, by: .keepClient) else {
            Issue.record("overwritten")
            return
        }
        #expect(origin.methods == ["GET"])
        #expect(newer.id == conflict.id && newer.revision == 2 && newer.serverIsLatest)
        #expect(newer.server?.etag == "\"E3\"")
        #expect(queue.recorded == [newer])
        try await fixture.store.commit([.putConflict(newer)], durable: true)
        guard case .resolved = try await deliverer.resolve(newer, by: .keepClient) else {
            Issue.record("not resolved")
            return
        }
        #expect(origin.methods.prefix(3) == ["GET", "GET", method.rawValue])
    }

    @Test("where edits stand behind the conflict, the decision is delivered before them as one of their lane")
    func later() async throws {
        let origin = FakeOrigin { _ in .success((200, ["ETag": "\"E3\""], "{}")) }
        var behind = Fixture.operation(id: "op2")
        behind.sequence = 2
        let queue = FakeQueue([Fixture.operation(id: "op1"), behind])
        let fixture = Fixture(origin, queue: queue)
        var conflict = try await conflict(in: fixture)
        conflict.operationID = OperationID("op1")
        try await fixture.store.commit([.putConflict(conflict)], durable: true)
        guard case .resolved = try await Deliverer(fixture.context).resolve(conflict, by: .keepClient) else {
            Issue.record("not resolved")
            return
        }
        #expect(queue.accepted.map(\.kind) == [.resolution] && queue.accepted[0].precondition == .ifMatch("\"E3\""))
        #expect(origin.methods == ["GET"] && queue.closed.isEmpty)
    }

    @Test("what the conflict shows is told by its bytes where there is no tag", arguments: [true, false])
    func untagged(isSame: Bool) async throws {
        let origin = FakeOrigin { _ in .success((200, [:], isSame ? #"{"v":1}"# : #"{"v":2}"#)) }
        let fixture = Fixture(origin)
        let shown = ConflictVersion(content: await fixture.content(#"{"v":1}"#))
        let conflict = try await conflict(in: fixture, server: shown)
        _ = try await Deliverer(fixture.context).resolve(conflict, by: .keepClient)
        #expect(origin.methods.contains("PUT") == isSame)
    }

    @Test("a deletion of what is gone at the origin overwrites nothing")
    func bothGone() async throws {
        let fixture = Fixture(FakeOrigin { _ in .success((404, [:], "")) })
        var conflict = try await conflict(in: fixture)
        conflict.client = ConflictVersion(isAbsent: true)
        guard case .resolved = try await Deliverer(fixture.context).resolve(conflict, by: .keepClient) else {
            Issue.record("not resolved")
            return
        }
    }

    @Test("a decision on an earlier revision than another one has left by its turn is refused")
    func stale() async throws {
        let origin = FakeOrigin { _ in .success((200, ["ETag": "\"E3\""], "{}")) }
        let fixture = Fixture(origin)
        let conflict = try await conflict(in: fixture)
        var closed = conflict
        closed.closedAt = 1
        closed.revision += 1
        try await fixture.store.commit([.putConflict(closed)], durable: true)
        let problem = await #expect(throws: Problem.self) {
            try await Deliverer(fixture.context).resolve(conflict, by: .keepClient)
        }
        #expect(problem?.code == .precondition)
        #expect(origin.sent.isEmpty)
    }

    @Test("a resolution without an answer becomes an operation of unknown outcome", arguments: [nil, 504])
    func lost(status: Int?) async throws {
        let origin = FakeOrigin { sent in
            if sent.method == .get { return .success((200, ["ETag": "\"E3\""], "{}")) }
            return status.map { .success(($0, [:], "")) } ?? .failure(.noAnswer(reason: "closed"))
        }
        let queue = FakeQueue()
        let fixture = Fixture(origin, queue: queue)
        let outcome = try await Deliverer(fixture.context).resolve(try await conflict(in: fixture), by: .keepClient)
        guard case .queued = outcome else {
            Issue.record("\(outcome)")
            return
        }
        let draft = try #require(queue.accepted.first)
        #expect(draft.initialState == .unknown)
        #expect(draft.idempotencyKey == origin.sent[1].fields["Idempotency-Key"])
        #expect(draft.precondition == .ifMatch("\"E3\""))
        #expect(draft.base?.etag == "\"E3\"")
    }

    @Test("a resolution without a connection is queued as never sent")
    func unreachable() async throws {
        let origin = FakeOrigin { sent in
            sent.method == .get
                ? .success((404, [:], "")) : .failure(.unreachable(reason: "refused", isTLS: false))
        }
        let queue = FakeQueue()
        let fixture = Fixture(origin, queue: queue)
        let conflict = try await conflict(in: fixture, server: ConflictVersion(isAbsent: true))
        _ = try await Deliverer(fixture.context).resolve(conflict, by: .keepClient)
        #expect(queue.accepted.first?.initialState == .pending)
        #expect(queue.accepted.first?.precondition == .ifNoneMatch("*"))
    }

    @Test(
        "a DELETE that the origin has only promised leaves what was kept, expired",
        arguments: [(204, true), (202, false)])
    func promised(status: Int, isGone: Bool) async throws {
        let origin = FakeOrigin { sent in
            sent.method == .get ? .success((200, ["ETag": "\"E3\""], "{}")) : .success((status, [:], ""))
        }
        let fixture = Fixture(origin, queue: FakeQueue())
        var conflict = try await conflict(in: fixture)
        conflict.client = ConflictVersion(isAbsent: true)
        _ = try await Deliverer(fixture.context).resolve(conflict, by: .keepClient)
        let copies = try #require(try await fixture.store.entry(conflict.key)).copies
        #expect(copies.map(\.isGone) == [isGone])
    }
}
