import CacheCore
import HTTPModel
import Sync
import Synchronization
import TestSupport
import Testing

@Suite struct `The work of actions` {
    private let fixture = WorkFixture()

    init() {
        for target in ["/a/1", "/a/2?x=1", "/b/1"] { fixture.asked.serve(target, "abc", HTTPFields()) }
    }

    @Test func `A refresh asks for all that its pattern covers, fresh or not`() async throws {
        for target in ["/a/1", "/a/2?x=1", "/b/1"] { try await fixture.know(target, age: 1) }
        let (isDone, progress) = try await fixture.run(.refresh(PathPattern("/a/**")))
        #expect(isDone)
        #expect(Set(fixture.asked.targets) == ["/a/1", "/a/2?x=1"])
        #expect((progress.done, progress.total, progress.fetched, progress.bytes) == (2, 2, 2, 6))
    }

    @Test func `What was brought up to date since the action was created is passed by`() async throws {
        try await fixture.know("/a/1", age: 0)
        try await fixture.know("/b/1", age: 1)
        let (_, progress) = try await fixture.run(.refresh(PathPattern("/**")))
        #expect(fixture.asked.targets == ["/b/1"])
        #expect((progress.done, progress.total, progress.fetched) == (2, 2, 1))
    }

    @Test func `An entry for which the origin gives nothing to keep counts as failed`() async throws {
        try await fixture.know("/none", age: 1)
        let (isDone, progress) = try await fixture.run(.refresh(PathPattern("/**")))
        #expect(isDone)
        #expect((progress.done, progress.failed, progress.fetched) == (1, 1, 0))
    }

    @Test func `An entry of whose identity no credential is known is told apart from one that failed`() async throws {
        let known = PartitionID(high: 5, low: 1)
        fixture.fixture.credentials.accepted(["Authorization": "Bearer k"], for: known)
        try await fixture.know("/a/1", age: 1, of: known)
        try await fixture.know("/b/1", age: 1, of: PartitionID(high: 5, low: 2))
        let (isDone, progress) = try await fixture.run(.refresh(PathPattern("/**")), of: nil)
        #expect(isDone)
        #expect(fixture.asked.targets == ["/a/1"])
        #expect((progress.done, progress.fetched, progress.failed, progress.withoutCredential) == (2, 1, 0, 1))
    }

    @Test func `A refresh stops where the origin is away`() async throws {
        try await fixture.know("/a/1", age: 1)
        fixture.fixture.network.force(offline: true)
        let (isDone, progress) = try await fixture.run(.refresh(PathPattern("/**")))
        #expect(!isDone)
        #expect(fixture.asked.targets.isEmpty)
        #expect((progress.done, progress.failed) == (0, 0))
    }

    @Test func `Saving saves for demand`() async throws {
        let (isDone, progress) = try await fixture.run(.save)
        #expect(isDone)
        #expect((progress.done, progress.total) == (1, 1))
    }

    @Test func `A verification looks at all of its stores, part by part, and counts what is damaged`() async throws {
        var found = BodyExamination()
        (found.checked, found.bytes, found.damaged) = (3, 30, 1)
        fixture.stores.bodies.withLock { [found] in $0 = ["a": [found, found], "b": [found]] }
        let (isDone, progress) = try await fixture.run(.verify(store: nil), stores: ["a", "b"])
        #expect(isDone)
        #expect((progress.done, progress.total, progress.bytes, progress.damaged) == (9, 9, 90, 3))
        #expect(fixture.stores.examined.withLock { $0 } == ["a begins", "a look 1", "b begins"])
    }

    @Test func `An interrupted verification goes on where it was`() async throws {
        let looks = [BodyExamination](repeating: BodyExamination(), count: 3)
        fixture.stores.bodies.withLock { $0 = ["a": looks, "b": looks] }
        let (isDone, _) = try await fixture.run(.verify(store: nil), stores: ["a", "b"], position: "1 look 1")
        #expect(isDone)
        #expect(fixture.stores.examined.withLock { $0 } == ["b look 1", "b look 2"])
    }

    @Test func `The sides of a mirrored store are compared instead of its parts, and mended`() async throws {
        var status = MirrorStatus()
        (status.done, status.total, status.copied) = (4, 4, 2)
        fixture.stores.sides.withLock { [status] in $0["m"] = status }
        let (_, verified) = try await fixture.run(.verify(store: "m"), stores: ["m"])
        #expect((verified.done, verified.total, verified.repaired) == (4, 4, 2))
        let (_, reconciled) = try await fixture.run(.reconcile(store: nil), stores: ["a", "m"])
        #expect((reconciled.done, reconciled.repaired) == (4, 2))
        #expect(fixture.stores.examined.withLock { $0 } == ["sides of m by digest", "sides of m"])
    }

    @Test func `A comparison of sides that fails fails the action`() async throws {
        var status = MirrorStatus()
        status.out = [.mirror]
        fixture.stores.sides.withLock { [status] in $0["m"] = status }
        let problem = await #expect(throws: Problem.self) {
            try await fixture.run(.verify(store: "m"), stores: ["m"])
        }
        #expect(problem?.code == .storeFailed)
    }

    @Test func `A store without a mirror can't be reconciled, and among all it is passed by`() async throws {
        let problem = await #expect(throws: Problem.self) {
            try await fixture.run(.reconcile(store: "a"), stores: ["a"])
        }
        #expect(problem?.code == .badRequest)
        #expect(try await fixture.run(.reconcile(store: nil), stores: ["a"]).isDone)
    }
}
