import CacheCore
import HTTPModel
import Synchronization
import TestSupport
import Testing

@testable import Storage

@Suite struct `Eviction by policy` {
    private final class Rules: Sendable {
        let table = Mutex(PolicyTable())

        func keep(_ policy: EvictionPolicy, at pattern: String) {
            var layer = PolicyLayer()
            layer.evictionPolicy = policy
            table.withLock { $0.rules = [.init(pattern: PathPattern(pattern), layer: layer)] }
        }
    }

    private let folder = TemporaryFolder()
    private let rules = Rules()

    private func key(_ name: String) -> EntryKey {
        EntryKey(partition: .none, target: Target(unchecked: name))
    }

    private func open() throws -> SQLiteStore {
        let rules = rules
        return try folder.open(StoreOptions(maxStoreSize: 100_000, policies: { rules.table.withLock { $0 } }))
    }

    private func put(_ name: String, _ store: SQLiteStore, byte: Int = 1) async throws {
        let content = try await store.makeContent([UInt8](repeating: UInt8(byte), count: 8_000), for: .copy)
        try await store.commit([.putCopy(key(name), sampleCopy(content))], durable: true)
    }

    private func fill(_ store: SQLiteStore) async throws {
        for number in 0..<40 { try await put("/filler/\(number)", store, byte: number + 2) }
    }

    @Test(arguments: [EvictionPolicy.manualEviction, .evictOnExpiryAtStartup])
    func `What a path keeps is not evicted when the store is full`(policy: EvictionPolicy) async throws {
        rules.keep(policy, at: "/maps/**")
        let store = try open()
        try await put("/maps/1", store)
        try await fill(store)
        #expect(try await store.entry(key("/maps/1"))?.copies.count == 1)
        #expect(try await store.entry(key("/filler/0")) == nil)
        await store.close()
    }

    @Test func `A path that is kept since the copy was stored is not evicted`() async throws {
        let store = try open()
        try await put("/maps/1", store)
        rules.keep(.manualEviction, at: "/maps/**")
        try await fill(store)
        #expect(try await store.entry(key("/maps/1"))?.copies.count == 1)
        await store.close()
    }

    @Test func `A path that is no longer kept gives room after the next start`() async throws {
        rules.keep(.manualEviction, at: "/maps/**")
        var store = try open()
        try await put("/maps/1", store)
        await store.close()
        rules.keep(.evictWhenFull, at: "/maps/**")
        store = try open()
        try await store.write(.other { _ = try $0.reviseEvictable(after: nil) }, durable: false)
        try await fill(store)
        #expect(try await store.entry(key("/maps/1")) == nil)
        await store.close()
    }

    @Test func `What the view answered with counts as used`() async throws {
        let view = ShardedHitView(memoryLimit: 1 << 20)
        let store = try SQLiteStore.open(
            folder: folder.path, options: StoreOptions(maxStoreSize: 100_000), clock: ManualClock(), log: SilentLog(),
            view: view)
        try await put("/hot", store)
        try await put("/cold", store)
        for number in 0..<20 {
            view.offer(sampleHit("x"), "/hot")
            #expect(view.body("/hot") == "x")
            try await put("/filler/\(number)", store, byte: number + 2)
        }
        #expect(try await store.entry(key("/hot"))?.copies.count == 1)
        #expect(try await store.entry(key("/cold")) == nil)
        await store.close()
    }

    @Test func `Eviction by age spares pins, unfinished operations and what was confirmed since`() async throws {
        let store = try folder.open()
        let operation = sampleOperation(1, nil)
        let names = ["/old", "/pinned", operation.lane.target.text]
        for name in names { try await put(name, store) }
        try await store.commit([.setPin(key("/pinned"), .normal), .putOperation(operation)], durable: true)
        let time = try #require(try await store.entry(key("/old"))?.lastSync)
        func evict(_ time: Double) async throws -> [Bool] {
            try await store.commit(names.map { .evict(key($0), ifOlderThan: time) }, durable: false)
            var kept: [Bool] = []
            for name in names { kept.append(try await store.entry(key(name))?.copies.isEmpty == false) }
            return kept
        }
        #expect(try await evict(time) == [true, true, true])
        #expect(try await evict(time + 1) == [false, true, true])
        await store.close()
    }

    @Test func `A new operation brings the policy of its entry into the room that copies may not use`() async throws {
        rules.keep(.manualEviction, at: "/maps/**")
        let store = try open()
        func fill(_ change: (Int) async throws -> Void) async {
            for number in 0..<1_000 {
                do { try await change(number) } catch { return }
            }
        }
        await fill { try await put("/maps/\($0)", store, byte: $0) }
        var layer = PolicyLayer()
        layer.expireAfter = 60
        await fill { try await store.commit([.setPolicy(key("/policies/\($0)"), layer)], durable: false) }
        let policy = StoreChange.setPolicy(key("/items/1"), layer)
        await #expect(throws: StoreError.full) { try await store.commit([policy], durable: true) }
        try await store.commit([.putOperation(sampleOperation(1, nil)), policy], durable: true)
        #expect(try await store.entry(key("/items/1"))?.policy == layer)
        await store.close()
    }

    @Test func `A write that has to make room makes some for those that follow`() async throws {
        let store = try folder.open(StoreOptions(maxStoreSize: 1_000_000))
        var (passes, writes) = (0, 0)
        for number in 0..<1_200 {
            let before = await store.usage().entries
            let content = try await store.makeContent([UInt8](repeating: 1, count: 1_000), for: .copy)
            try await store.commit([.putCopy(key("/\(number)"), sampleCopy(content))], durable: true)
            if await store.usage().entries <= before { passes += 1 }
            if passes > 0 { writes += 1 }
        }
        #expect(writes > 200)
        #expect(passes <= writes / 8)
        await store.close()
    }

    @Test func `What many operations spare is passed by once`() async throws {
        let store = try folder.open(StoreOptions(maxStoreSize: 2_000_000))
        let content = try await store.makeContent([UInt8](repeating: 1, count: 100), for: .copy)
        var changes: [StoreChange] = []
        for number in 1...1_000 {
            let operation = sampleOperation(Int64(number), nil)
            changes += [.putCopy(operation.lane, sampleCopy(content)), .putOperation(operation)]
        }
        try await store.commit(changes, durable: true)
        for number in 0..<20 {
            try await store.commit([.putCopy(key("/\(number)"), sampleCopy(content))], durable: true)
        }
        try await store.write(
            .other { try $0.makeRoom(for: 1_900_000, purpose: .operation, sparing: []) }, durable: true)
        #expect(await store.usage().entries == 1_000)
        await store.close()
    }
}
