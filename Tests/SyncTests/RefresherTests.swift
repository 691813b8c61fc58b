import CacheCore
import HTTPModel
import Sync
import Synchronization
import TestSupport
import Testing

@Suite struct `Refresh in the background` {
    /// Puts a fresh copy into the store for what it is asked for, and keeps that then.
    private final class Asked: EntryRefreshing {
        private let record = Mutex<[(target: String, credential: String?)]>([])
        let store: MemoryStore
        let clock: ManualClock

        init(_ store: MemoryStore, _ clock: ManualClock) {
            self.store = store
            self.clock = clock
        }

        var targets: [String] { record.withLock { $0.map(\.target) } }
        var credentials: [String?] { record.withLock { $0.map(\.credential) } }

        func refresh(_ key: EntryKey, credentials: HTTPFields) async throws(OriginError) {
            // Who waits for the request may move the clock then: what it brings must not be of the time after.
            try? await store.commit([.putCopy(key, Self.copy(at: clock.now))], durable: false)
            record.withLock { $0.append((key.target.text, credentials["Authorization"])) }
        }

        static func copy(at time: Double, status: Int = 200) -> ServerCopy {
            ServerCopy(
                status: status, fields: ["Cache-Control": "max-age=60"], content: .empty, requestTime: time,
                responseTime: time, epoch: 1)
        }
    }

    private let clock = ManualClock()
    private let fixture: Fixture
    private let asked: Asked
    private let refresher: Refresher

    init() {
        fixture = Fixture(FakeOrigin { _ in .success((200, [:], "")) }, clock: clock)
        asked = Asked(fixture.store, clock)
        refresher = Refresher(
            store: fixture.store, network: fixture.network, credentials: fixture.credentials,
            sources: fixture.context.sources, settings: fixture.settings, clock: clock, log: NoLog(), entries: asked)
    }

    private func key(_ target: String, _ partition: PartitionID = .none) -> EntryKey {
        EntryKey(partition: partition, target: Target(unchecked: target))
    }

    private func know(
        _ target: String, age: Double, status: Int = 200, partition: PartitionID = .none
    ) async throws {
        let copy = Asked.copy(at: clock.now - age, status: status)
        try await fixture.store.commit([.putCopy(key(target, partition), copy)], durable: false)
    }

    /// Starts, and waits for that many requests or, without any, until the start's work is over.
    private func run(_ policy: PeriodicRefreshPolicy, until count: Int) async {
        fixture.settings.update { $0.periodicRefreshPolicy = policy }
        refresher.start()
        await wait(for: count)
    }

    private func wait(for count: Int) async {
        await eventually { asked.targets.count >= count }
        // Whatever else would follow has its turn.
        for _ in 0..<1_000 { await Task.yield() }
    }

    /// Until a round is over after which there will be another one.
    private func untilIdle() async { await eventually { clock.nextWake != nil } }

    @Test func `At the start what has expired is fetched, and nothing else`() async throws {
        try await know("/fresh", age: 1)
        try await know("/expired", age: 61)
        try await know("/gone", age: 61, status: 404)
        await run(.atStartup, until: 1)
        #expect(asked.targets == ["/expired"])
        clock.advance(by: 3_600)
        refresher.wake()
        await wait(for: 1)
        #expect(asked.targets == ["/expired"])
        refresher.stop()
    }

    @Test func `Periodically what has expired meanwhile is fetched at each interval`() async throws {
        fixture.settings.update { $0.periodicRefreshInterval = 45 }
        try await know("/a", age: 61)
        await run(.periodically, until: 1)
        await untilIdle()
        clock.advance(by: 45)
        await untilIdle()
        #expect(asked.targets == ["/a"])
        clock.advance(by: 45)
        await wait(for: 2)
        #expect(asked.targets == ["/a", "/a"])
        refresher.stop()
    }

    @Test func `Without a policy expired copies go at the start where theirs says so`() async throws {
        var layer = PolicyLayer()
        layer.evictionPolicy = .evictOnExpiryAtStartup
        fixture.settings.update {
            $0.policies.rules = [.init(pattern: PathPattern("/news/**"), layer: layer)]
        }
        try await know("/news/old", age: 61)
        try await know("/news/new", age: 1)
        try await know("/news/pinned", age: 61)
        try await fixture.store.commit([.setPin(key("/news/pinned"), .normal)], durable: false)
        try await know("/else", age: 61)
        await run(.none, until: 1)
        #expect(try await fixture.store.entry(key("/news/old")) == nil)
        for target in ["/news/new", "/news/pinned", "/else"] {
            #expect(try await fixture.store.entry(key(target)) != nil)
        }
        #expect(asked.targets == ["/news/pinned"])
        refresher.stop()
    }

    @Test func `With a policy expired copies are fetched at the start instead of evicted`() async throws {
        var layer = PolicyLayer()
        layer.evictionPolicy = .evictOnExpiryAtStartup
        fixture.settings.update { $0.policies.defaultLayer = layer }
        try await know("/a", age: 61)
        await run(.atStartup, until: 1)
        #expect(try await fixture.store.entry(key("/a"))?.copies.count == 1)
        refresher.stop()
    }

    @Test func `Pinned entries are fetched when they are pinned, missing ones too, until they are let go`() async throws
    {
        await run(.none, until: 0)
        try await know("/normal", age: 61)
        for (target, priority) in [("/normal", PinPriority.normal), ("/zzz", .high)] {
            try await fixture.store.commit([.setPin(key(target), priority)], durable: false)
            refresher.pinChanged(key(target), to: priority)
        }
        await wait(for: 2)
        #expect(Set(asked.targets) == ["/zzz", "/normal"])
        // In the store too, as with every change of a pin: a round that is under way finds it there.
        try await fixture.store.commit([.setPin(key("/normal"), nil)], durable: false)
        refresher.pinChanged(key("/normal"), to: nil)
        clock.advance(by: 61)
        refresher.wake()
        await wait(for: 3)
        #expect(asked.targets.dropFirst(2) == ["/zzz"])
        refresher.stop()
    }

    @Test func `A pin for something else goes when that is no longer pinned, offline too`() async throws {
        let list = Target(unchecked: "/list")
        let feed = Target(unchecked: "/feed")
        let released = Mutex<[String]>([])
        refresher.onRelease { entry in
            released.withLock { $0.append("\(entry.key.target.text) \(entry.pin?.rawValue ?? "none")") }
        }
        fixture.network.force(offline: true)
        try await fixture.store.commit(
            [
                .setPin(key("/list"), .normal), .setPin(key("/a"), .normal, for: list), .setPin(key("/b"), .high),
                .setPin(key("/b"), .normal, for: feed), .setPin(key("/c"), .normal, for: feed),
            ], durable: false)
        await run(.none, until: 0)
        func wait(for count: Int) async { await eventually { released.withLock { $0.count } >= count } }
        await wait(for: 2)
        #expect(released.withLock { Set($0) } == ["/b high", "/c none"])
        try await fixture.store.commit([.setPin(key("/list"), nil)], durable: false)
        refresher.pinChanged(key("/list"), to: nil)
        await wait(for: 3)
        #expect(released.withLock { $0.last } == "/a none")
        #expect(try await fixture.store.entry(key("/a"))?.pins == Pins())
        refresher.stop()
    }

    @Test func `Pins that were there before are found at the start, those of high priority first`() async throws {
        try await know("/normal", age: 61)
        try await fixture.store.commit(
            [.setPin(key("/normal"), .normal), .setPin(key("/zzz"), .high)], durable: false)
        await run(.none, until: 2)
        #expect(asked.targets == ["/zzz", "/normal"])
        refresher.stop()
    }

    @Test func `An origin in trouble is asked for pins of high priority alone`() async throws {
        try await fixture.store.commit(
            [.setPin(key("/normal"), .normal), .setPin(key("/high"), .high)], durable: false)
        fixture.network.answered(status: 503)
        await run(.atStartup, until: 1)
        await untilIdle()
        #expect(asked.targets == ["/high"])
        fixture.network.answered(status: 200)
        clock.advance(by: fixture.settings.current.periodicRefreshInterval)
        await wait(for: 3)
        #expect(asked.targets.contains("/normal"))
        refresher.stop()
    }

    @Test func `What expired while the origin was away is fetched when it is back`() async throws {
        try await know("/a", age: 61)
        fixture.network.force(offline: true)
        await run(.atStartup, until: 0)
        #expect(asked.targets.isEmpty)
        fixture.network.force(offline: false)
        refresher.wake()
        await wait(for: 1)
        #expect(asked.targets == ["/a"])
        refresher.stop()
    }

    @Test func `An entry of an identity is fetched with its credential, and not at all without one`() async throws {
        let known = PartitionID(high: 5, low: 1)
        fixture.credentials.accepted(["Authorization": "Bearer k"], for: known)
        try await know("/mine", age: 61, partition: known)
        try await know("/theirs", age: 61, partition: PartitionID(high: 5, low: 2))
        try await know("/all", age: 61)
        await run(.atStartup, until: 2)
        #expect(Set(asked.targets) == ["/mine", "/all"])
        #expect(Set(asked.credentials) == ["Bearer k", nil])
        refresher.stop()
    }
}
