import CacheCore
import HTTPModel
import Storage
import TestSupport
import Testing

@Suite struct `Strategies` {
    private let folder = TemporaryFolder()
    private let clock = ManualClock()
    private let view = ShardedHitView(memoryLimit: 1 << 20)
    private let key = EntryKey(partition: .none, target: Target(unchecked: "/a"))
    private let pair = MirrorFixture()

    private func open(_ strategy: StrategyName) throws -> SQLiteStore {
        try SQLiteStore.open(
            folder: folder.path, options: StoreOptions(strategy: strategy), clock: clock, log: SilentLog(), view: view)
    }

    private func put(_ byte: UInt8, in store: any Store, isBackground: Bool = false) async throws {
        let copy = sampleCopy(try await store.makeContent([byte], for: .copy))
        try await store.commit([.putCopy(key, copy)], durable: isBackground)
    }

    private func publish() {
        view.publish(
            PreparedHit(
                head: [1], notModifiedFrom: 1, body: [1], etag: 0..<0, bornAt: 0, freshUntil: 9e9),
            for: key, route: .resources, ticket: view.ticket(key))
    }

    private var isPrepared: Bool {
        let target = Array(key.target.text.utf8)
        return target.withUnsafeBytes { bytes in
            let hit = HitKey(partition: .none, route: .resources, target: bytes)
            return view.withHit(hit, selects: { _ in true }, { _ in true })
        }
    }

    @Test(arguments: StrategyName.allCases)
    func `A kept answer is read at once, and survives a stop`(_ strategy: StrategyName) async throws {
        var store = try open(strategy)
        try await put(1, in: store)
        #expect(try await store.entry(key)?.copies.first?.content.inline == [1])
        await store.close()
        store = try open(strategy)
        #expect(try await store.entry(key)?.copies.first?.content.inline == [1])
        await store.close()
    }

    @Test(arguments: StrategyName.allCases)
    func `Only the indirect one answers before the database has the copy`(_ strategy: StrategyName) async throws {
        let store = try open(strategy)
        // The upkeep of the start has transactions of its own.
        await eventually { clock.sleeperCount > 0 }
        try await store.save()
        let before = store.transactionCount
        try await put(1, in: store)
        #expect((store.transactionCount > before) == (strategy != .indirectNested))
        await store.close()
    }

    @Test(arguments: StrategyName.allCases)
    func `Only the independent one leaves a prepared hit in the view`(_ strategy: StrategyName) async throws {
        let store = try open(strategy)
        publish()
        #expect(isPrepared)
        try await put(2, in: store, isBackground: true)
        #expect(isPrepared == (strategy == .directIndependent))
        try await store.commit([.expire(key)], durable: true)
        #expect(!isPrepared)
        await store.close()
    }

    @Test(arguments: StrategyName.allCases)
    func `In two locations too, only the indirect one lets others wait for what was kept`(
        _ strategy: StrategyName
    ) async throws {
        let app = try await pair.app(strategy: strategy)
        let helper = try await pair.extension()
        try await put(1, in: app)
        #expect(try await app.entry(key)?.copies.first?.content.inline == [1])
        let isWritten = try await helper.entry(key) != nil
        #expect(isWritten == (strategy != .indirectNested))
        #expect(try await app.entries(EntryFilter(), after: nil, limit: 9).items.count == 1)
        #expect(try await helper.entry(key)?.copies.first?.content.inline == [1])
        await app.close()
        await helper.close()
    }

    @Test(arguments: StrategyName.allCases)
    func `In two locations too, only the independent one leaves a prepared hit in the view`(
        _ strategy: StrategyName
    ) async throws {
        let app = try await pair.app(strategy: strategy, view: view)
        publish()
        try await put(2, in: app, isBackground: true)
        #expect(isPrepared == (strategy == .directIndependent))
        try await app.commit([.expire(key)], durable: true)
        #expect(!isPrepared)
        await app.close()
    }

    @Test func `What is written behind is written after some seconds`() async throws {
        let store = try open(.indirectNested)
        await eventually { clock.sleeperCount == 1 }
        try await store.save()
        try await put(1, in: store)
        let before = store.transactionCount
        await eventually { clock.sleeperCount == 2 }
        clock.advance(by: 2)
        await eventually { store.transactionCount != before }
        #expect(try await store.entry(key)?.copies.first?.content.inline == [1])
        await store.close()
    }

    @Test func `What must not be lost is written at once, after what came before it`() async throws {
        let store = try open(.indirectNested)
        try await put(1, in: store)
        let before = store.transactionCount
        try await store.commit([.putOperation(sampleOperation(1, nil))], durable: true)
        #expect(store.transactionCount >= before + 2)
        #expect(try await store.entries(EntryFilter(), after: nil, limit: 9).items.count == 1)
        await store.close()
    }

    @Test func `Mixed waits for the disk in the background alone`() {
        let strategy = StrategyName.mixed.strategy
        #expect(strategy.plan(isBackground: true) == WritePlan(.durable))
        #expect(strategy.plan(isBackground: false) == WritePlan(.written))
        for name in [StrategyName.direct, .directIndependent] {
            #expect(name.strategy.plan(isBackground: false).timing == .durable)
        }
    }
}
