import CacheCore
import Storage
import TestSupport
import Testing

@Suite struct `Actions in a store` {
    private static let mine = PartitionID(high: 1, low: 2)

    private static func action(_ id: String, partition: PartitionID = .none) -> Action {
        Action(
            id: id, request: .refresh(PathPattern("/items/**")), partition: partition,
            partitions: [partition, .none], stores: ["default", "a"], createdAt: 7)
    }

    /// With a value in every member.
    private static var full: Action {
        var action = action("full")
        action.state = .finished
        action.completion = .failed
        action.progress.done = 1
        action.progress.total = 2
        action.progress.bytes = 3
        action.progress.fetched = 4
        action.progress.failed = 5
        action.progress.pinned = 6
        action.progress.damaged = 7
        action.progress.repaired = 8
        action.progress.position = "here"
        action.startedAt = 9
        action.finishedAt = 1_700_000_000
        action.executionTime = 0.5
        action.starts = 3
        action.problem = ActionProblem(.storeFull, "no room")
        return action
    }

    /// The rules of the port, for each that has it.
    private func check(_ store: any ActionStore) async throws {
        try await store.put(Self.action("b"))
        try await store.put(Self.action("c", partition: Self.mine))
        try await store.put(Self.action("a"))
        try await store.put(Self.full)
        #expect(try await store.action("full") == Self.full)
        #expect(try await store.action("none") == nil)
        var changed = Self.action("b")
        changed.state = .executing
        try await store.put(changed)
        #expect(try await store.action("b") == changed)
        let page = try await store.actions(partitions: nil, after: nil, limit: 2)
        #expect(page.items.map(\.id) == ["a", "b"])
        #expect(try await store.actions(partitions: nil, after: page.next, limit: 9).items.map(\.id) == ["c", "full"])
        #expect(try await store.actions(partitions: [Self.mine], after: nil, limit: 9).items.map(\.id) == ["c"])
        #expect(try await store.unfinishedActions().map(\.id) == ["a", "b", "c"])
    }

    @Test func `A store in a folder keeps them, also when it is opened again`() async throws {
        let folder = TemporaryFolder()
        var store = try folder.open()
        try await check(store)
        await store.close()
        store = try folder.open()
        #expect(try await store.unfinishedActions().map(\.id) == ["a", "b", "c"])
        #expect(try await store.action("full") == Self.full)
        await store.close()
    }

    @Test func `A store in memory keeps them`() async throws { try await check(MemoryActions()) }

    @Test func `One whose limits hold no partition list is everybody's`() async throws {
        let folder = TemporaryFolder()
        let store = try folder.open()
        let action = Action(
            id: "all", request: .save, partition: Self.mine, partitions: nil, stores: [], createdAt: 1)
        try await store.put(action)
        #expect(try await store.action("all") == action)
        await store.close()
    }

    @Test func `They count as bytes of operations until they are removed`() async throws {
        let folder = TemporaryFolder()
        let clock = ManualClock()
        let store = try SQLiteStore.open(folder: folder.path, clock: clock, log: SilentLog())
        let before = await store.usage().operations
        var action = Self.action("a")
        try await store.put(action)
        let kept = await store.usage().operations
        #expect(kept > before)
        try await store.put(action)
        #expect(await store.usage().operations == kept)
        action.state = .finished
        action.finishedAt = clock.now
        try await store.put(action)
        await eventually { clock.nextWake != nil }
        clock.advance(by: 8 * 86_400)
        try await eventually { try await store.action("a") == nil }
        #expect(await store.usage().operations == before)
        await store.close()
    }
}
