import CacheCore
import HTTPModel
import Sync
import TestSupport
import Testing

@Suite struct ResolverTests {
    private func conflict(in fixture: Fixture) async -> Conflict {
        Conflict(
            id: "c1", key: EntryKey(partition: .none, target: Target(unchecked: "/items/1")), kind: .edited,
            operationID: nil, method: .put, fields: [:], base: nil,
            client: ConflictVersion(mediaType: "application/json", content: await fixture.content("{}")), server: nil,
            serverIsLatest: false, originAnswer: nil, policy: Policy(), createdAt: 0)
    }

    @Test("a resolution that meets a newer version is the same conflict with that version")
    func movedAgain() async throws {
        let origin = FakeOrigin { sent in
            sent.method == .get ? .success((200, ["ETag": "\"E3\""], "{}")) : .success((412, [:], ""))
        }
        let queue = FakeQueue()
        let fixture = Fixture(origin, queue: queue)
        let deliverer = Deliverer(fixture.context)
        let conflict = await conflict(in: fixture)
        guard case .conflictAgain(let newer) = try await deliverer.resolve(conflict, by: .keepClient) else {
            Issue.record("not a conflict again")
            return
        }
        #expect(newer.id == "c1" && newer.revision == 2 && newer.server?.etag == "\"E3\"")
        #expect(origin.sent[1].fields["If-Match"] == "\"E3\"")
        fixture.network.force(offline: true)
        guard case .queued = try await deliverer.resolve(newer, by: .keepClient) else {
            Issue.record("not queued")
            return
        }
        #expect(queue.accepted[0].kind == .resolution && queue.accepted[0].precondition == .ifMatch("\"E3\""))
    }

    @Test("a resolution without an answer becomes an operation of unknown outcome", arguments: [nil, 504])
    func lost(status: Int?) async throws {
        let origin = FakeOrigin { sent in
            if sent.method == .get { return .success((200, ["ETag": "\"E3\""], "{}")) }
            return status.map { .success(($0, [:], "")) } ?? .failure(.noAnswer(reason: "closed"))
        }
        let queue = FakeQueue()
        let fixture = Fixture(origin, queue: queue)
        let outcome = try await Deliverer(fixture.context).resolve(await conflict(in: fixture), by: .keepClient)
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
        _ = try await Deliverer(fixture.context).resolve(await conflict(in: fixture), by: .keepClient)
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
        var conflict = await conflict(in: fixture)
        conflict.client = ConflictVersion(isAbsent: true)
        _ = try await Deliverer(fixture.context).resolve(conflict, by: .keepClient)
        let copies = try #require(try await fixture.store.entry(conflict.key)).copies
        #expect(copies.map(\.isGone) == [isGone])
    }
}
