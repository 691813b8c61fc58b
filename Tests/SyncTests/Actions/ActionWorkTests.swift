import CacheCore
import HTTPModel
import Sync
import Synchronization
import TestSupport
import Testing

@Suite struct `The work of actions` {
    /// Puts a copy into the store for what the origin has, and keeps what was asked for.
    private final class Asked: EntryRefreshing {
        private let record = Mutex<[String]>([])
        private let missing: Set<String>
        let store: MemoryStore
        let clock: ManualClock

        init(_ store: MemoryStore, _ clock: ManualClock, missing: Set<String>) {
            self.store = store
            self.clock = clock
            self.missing = missing
        }

        var targets: [String] { record.withLock { $0 } }

        func refresh(_ key: EntryKey, credentials: HTTPFields) async throws(OriginError) {
            record.withLock { $0.append(key.target.text) }
            guard !missing.contains(key.target.text) else { return }
            try? await store.commit([.putCopy(key, copy(at: clock.now))], durable: false)
        }

        func copy(at time: Double) -> ServerCopy {
            ServerCopy(
                status: 200, fields: ["Cache-Control": "max-age=60"],
                content: Content(digest: Digest(bytes: [1]), length: 3, inline: [1, 2, 3]), requestTime: time,
                responseTime: time, epoch: 1)
        }
    }

    private let clock = ManualClock()
    private let fixture: Fixture
    private let asked: Asked
    private let works: [ActionType: any ActionWork]

    init() {
        fixture = Fixture(FakeOrigin { _ in .success((200, [:], "")) }, clock: clock)
        asked = Asked(fixture.store, clock, missing: ["/none"])
        works = ActionWorks.all(
            store: fixture.store, network: fixture.network, credentials: fixture.credentials,
            sources: fixture.context.sources, entries: asked, stores: OneStore(), clock: clock, log: NoLog())
    }

    private func know(_ target: String, age: Double) async throws {
        let key = EntryKey(partition: .none, target: Target(unchecked: target))
        try await fixture.store.commit([.putCopy(key, asked.copy(at: clock.now - age))], durable: false)
    }

    /// Runs to the end, or until the work stops; what it has noted then.
    private func run(_ request: ActionRequest) async throws -> (isDone: Bool, progress: ActionProgress) {
        let action = Action(
            id: "a", request: request, partition: .none, partitions: [.none], stores: [], createdAt: clock.now)
        let noted = Mutex(ActionProgress())
        let work = try #require(works[request.type])
        let isDone = try await work.run(ActionTurn(action) { change in noted.withLock { change(&$0) } })
        return (isDone, noted.withLock { $0 })
    }

    @Test func `A refresh asks for all that its pattern covers, fresh or not`() async throws {
        for target in ["/a/1", "/a/2?x=1", "/b/1"] { try await know(target, age: 1) }
        let (isDone, progress) = try await run(.refresh(PathPattern("/a/**")))
        #expect(isDone)
        #expect(Set(asked.targets) == ["/a/1", "/a/2?x=1"])
        #expect((progress.done, progress.total, progress.fetched, progress.bytes) == (2, 2, 2, 6))
    }

    @Test func `What was brought up to date since the action was created is passed by`() async throws {
        try await know("/a", age: 0)
        try await know("/b", age: 1)
        let (_, progress) = try await run(.refresh(PathPattern("/**")))
        #expect(asked.targets == ["/b"])
        #expect((progress.done, progress.total, progress.fetched) == (2, 2, 1))
    }

    @Test func `An entry for which the origin gives nothing to keep counts as failed`() async throws {
        try await know("/none", age: 1)
        let (isDone, progress) = try await run(.refresh(PathPattern("/**")))
        #expect(isDone)
        #expect((progress.done, progress.failed, progress.fetched) == (1, 1, 0))
    }

    @Test func `A refresh stops where the origin is away`() async throws {
        try await know("/a", age: 1)
        fixture.network.force(offline: true)
        let (isDone, progress) = try await run(.refresh(PathPattern("/**")))
        #expect(!isDone)
        #expect(asked.targets.isEmpty)
        #expect((progress.done, progress.failed) == (0, 0))
    }

    @Test func `Saving saves for demand`() async throws {
        let (isDone, progress) = try await run(.save)
        #expect(isDone)
        #expect((progress.done, progress.total) == (1, 1))
    }
}

/// The default store alone, which saves on demand.
private struct OneStore: StoreKeeping {
    var patterns: [(store: String, paths: [PathPattern])] { [(StoreName.standard, [PathPattern("/**")])] }
    var mode: CacheMode { .automatic }
    func stores() async throws -> [StoreDescription] { [] }
    func attach(_ requests: [StoreRequest]) async throws -> [StoreDescription] { [] }
    func setStarted(_ isStarted: Bool, of name: String) async throws -> StoreDescription {
        throw Problem(.notFound, "")
    }
    func move(_ name: String, to location: String) async throws -> StoreDescription { throw Problem(.notFound, "") }
    func verify(
        _ name: String, progress: @escaping @Sendable (MirrorStatus) -> Void
    ) async throws -> MirrorStatus { throw Problem(.notFound, "") }
    func detach(_ name: String, leavingOperations: Bool) async throws {}
    func setMode(_ mode: CacheMode) async throws {}
    func save(for reason: SaveReason) async throws -> Bool { reason == .demand }
}
