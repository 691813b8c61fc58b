import CacheCore
import Glibc
import HTTPModel
import Storage
import TestSupport
import Testing

@Suite struct `Store router` {
    private let folders = (TemporaryFolder(), TemporaryFolder())

    /// The default store and one called `other` for /b and all below it.
    private func open(view: (any HitView)? = nil) async throws -> (router: StoreRouter, other: SQLiteStore) {
        let router = StoreRouter(try folders.0.open(), view: view)
        let other = try folders.1.open()
        _ = try await router.put("other", patterns: [PathPattern("/b/**")], store: other, isStarted: true)
        return (router, other)
    }

    private func key(_ target: String) -> EntryKey { EntryKey(partition: .none, target: Target(unchecked: target)) }

    private func copy(_ text: String, in store: any Store, at target: String) async throws -> ServerCopy {
        var copy = sampleCopy(
            try await store.makeContent(Array(text.utf8), for: .copy, at: Target(unchecked: target)))
        copy.epoch = store.epoch
        return copy
    }

    private func operation(_ sequence: Int64, at target: String) -> Operation {
        var operation = sampleOperation(sequence, nil)
        operation.kind = .edit
        operation.temporaryTarget = nil
        operation.target = Target(unchecked: target)
        return operation
    }

    @Test(arguments: StoreContract.rules)
    func `Two stores behind a router keep the rule of one`(rule: StoreRule) async throws {
        let (router, _) = try await open()
        try await rule.check(router)
        await router.close()
    }

    @Test func `What one store has is not seen where another has the target`() async throws {
        let router = StoreRouter(try folders.0.open())
        try await router.commit([.putCopy(key("/b/1"), try await copy("old", in: router, at: "/b/1"))], durable: true)
        _ = try await router.put(
            "other", patterns: [PathPattern("/b/**")], store: try folders.1.open(), isStarted: true)
        #expect(try await router.entry(key("/b/1")) == nil)
        #expect(try await router.entries(EntryFilter(), after: nil, limit: 9).items.isEmpty)
        try await router.commit([.putCopy(key("/b/1"), try await copy("new", in: router, at: "/b/1"))], durable: true)
        #expect(try await router.entry(key("/b/1"))?.copies.first?.content.inline == Array("new".utf8))
        router.stop("other", detaching: false, try await router.image(of: "other"))
        #expect(try await router.entry(key("/b/1")) == nil)
        await router.close()
    }

    @Test func `What a mirror has not taken keeps nothing from the other stores`() async throws {
        let pair = MirrorFixture()
        let router = StoreRouter(try folders.0.open())
        let third = try folders.1.open()
        let mirrored = try await pair.app()
        _ = try await router.put("b", patterns: [PathPattern("/b/**")], store: mirrored, isStarted: true)
        _ = try await router.put("c", patterns: [PathPattern("/c/**")], store: third, isStarted: true)
        #expect(rename(pair.mirror.path + "/m", pair.mirror.path + "/away") == 0)
        let intake = try await router.intake()
        for target in ["/b/1", "/c/1"] {
            var entry = Entry(key: key(target))
            entry.keep(try await copy(target, in: router, at: target))
            try await intake.add(entry)
        }
        await #expect(throws: StoreError.self) { try await intake.commit() }
        #expect(mirrored.status.out == [.mirror])
        await #expect(throws: StoreError.self) {
            try await router.commit([.expire(key("/b/1")), .expire(key("/c/1"))], durable: true)
        }
        for target in ["/b/1", "/c/1"] {
            #expect(try await router.entry(key(target))?.copies.first?.isExpired == true)
        }
        await router.close()
    }

    @Test func `A commit or a save over several stores tells all that failed, first what was not kept`() async throws {
        let router = StoreRouter(try folders.0.open())
        let stores = ["b": MemoryStore(), "c": MemoryStore(), "d": MemoryStore()]
        for (name, store) in stores.sorted(by: { $0.key < $1.key }) {
            _ = try await router.put(name, patterns: [PathPattern("/\(name)/**")], store: store, isStarted: true)
        }
        let changes = stores.keys.map { StoreChange.setPin(key("/\($0)/1"), .high) }
        stores["b"]?.failure = .mirrorFailed(.closed)
        stores["c"]?.failure = .mirrorFailed(.full)
        let halves = ["b": StoreError.mirrorFailed(.closed), "c": .mirrorFailed(.full)].sorted { $0.key < $1.key }.map {
            StoreFailure(store: $0.key, error: $0.value)
        }
        await #expect(throws: StoreError.several(halves)) { try await router.commit(changes, durable: true) }
        #expect(stores["d"]?.commits.count == 1)
        stores["c"]?.failure = .full
        await #expect(throws: StoreError.several([StoreFailure(store: "c", error: .full), halves[0]])) {
            try await router.commit(changes, durable: true)
        }
        #expect(stores["d"]?.commits.count == 1)
        stores["b"]?.failure = nil
        await #expect(throws: StoreError.full) { try await router.commit(changes, durable: true) }
        await router.close()
    }

    @Test func `The most specific pattern has the target`() async throws {
        let (router, _) = try await open()
        let third = TemporaryFolder()
        _ = try await router.put("third", patterns: [PathPattern("/b/*/x")], store: try third.open(), isStarted: true)
        let names = ["/b/1/x", "/b/1/y", "/b", "/c?b=/b/1"].map { router.place(of: Target(unchecked: $0)).store }
        #expect(names == ["third", "other", "other", "default"])
        await router.close()
    }

    @Test func `A target with a queued write stays with its store until that is settled`() async throws {
        let router = StoreRouter(try folders.0.open())
        var write = operation(1, at: "/b/1")
        try await router.commit([.putOperation(write)], durable: true)
        _ = try await router.put(
            "other", patterns: [PathPattern("/b/**")], store: try folders.1.open(), isStarted: true)
        #expect(router.place(of: write.target).store == "default")
        write.state = .delivered
        write.finishedAt = 1
        try await router.commit([.putOperation(write)], durable: true)
        #expect(router.place(of: write.target).store == "other")
        await router.close()
    }

    @Test func `A detached store keeps its writes, takes none, and has them again when it is back`() async throws {
        let (router, other) = try await open()
        let write = operation(1, at: "/b/1")
        try await router.commit([.putOperation(write)], durable: true)
        router.stop("other", detaching: true, try await router.image(of: "other"))
        await other.close()
        let place = router.place(of: write.target)
        #expect(place.access == .passing(.storeDetached) && place.hasWaitingWrite)
        #expect(!router.place(of: Target(unchecked: "/b/2")).hasWaitingWrite)
        #expect(try await router.loadQueue().operations.isEmpty)
        await #expect(throws: StoreError.detached) {
            try await router.commit([.putOperation(operation(2, at: "/b/2"))], durable: true)
        }
        try await router.commit([.putCopy(key("/b/2"), try await copy("a", in: router, at: "/a"))], durable: true)
        let image = try await router.put(
            "other", patterns: [PathPattern("/b/**")], store: try folders.1.open(), isStarted: true)
        #expect(image.operations == [write])
        #expect(try await router.entry(key("/b/2")) == nil)
        #expect(router.place(of: write.target) != place)
        await router.close()
    }

    @Test(arguments: [true, false], ["/b/*", "/b/1", "/b/**"])
    func `No other store takes a target over whose queued write waits in one that is away`(
        detaching: Bool, pattern: String
    ) async throws {
        let (router, other) = try await open()
        let write = operation(1, at: "/b/1")
        try await router.commit([.putOperation(write)], durable: true)
        router.stop("other", detaching: detaching, try await router.image(of: "other"))
        let third = TemporaryFolder()
        _ = try await router.put("third", patterns: [PathPattern(pattern)], store: try third.open(), isStarted: true)
        let place = router.place(of: write.target)
        #expect(place.store == "other" && place.hasWaitingWrite)
        await #expect(throws: StoreError.detached) {
            try await router.commit([.putOperation(operation(2, at: "/b/1"))], durable: true)
        }
        if detaching {
            await other.close()
            _ = try await router.put(
                "other", patterns: [PathPattern("/b/**")], store: try folders.1.open(), isStarted: true)
        } else {
            _ = try await router.start("other")
        }
        #expect(router.place(of: write.target).access == .open)
        var done = write
        done.state = .delivered
        done.finishedAt = 1
        try await router.commit([.putOperation(done)], durable: true)
        #expect(router.place(of: write.target).store == (pattern == "/b/**" ? "other" : "third"))
        await router.close()
    }

    @Test func `A store that is there goes before one of equal patterns that is detached`() async throws {
        let (router, other) = try await open()
        router.stop("other", detaching: true, .empty)
        await other.close()
        let third = TemporaryFolder()
        _ = try await router.put("third", patterns: [PathPattern("/b/**")], store: try third.open(), isStarted: true)
        #expect(router.place(of: Target(unchecked: "/b/1")).store == "third")
        await router.close()
    }

    @Test func `What waited in a store waits no longer once its files have another name`() async throws {
        let (router, other) = try await open()
        let write = operation(1, at: "/b/1")
        try await router.commit([.putOperation(write)], durable: true)
        router.stop("other", detaching: true, try await router.image(of: "other"))
        await other.close()
        _ = try await router.put(
            "renamed", patterns: [PathPattern("/b/**")], store: try folders.1.open(), isStarted: true)
        router.forgetWaiting(in: "other")
        var done = write
        done.state = .delivered
        done.finishedAt = 1
        try await router.commit([.putOperation(done)], durable: true)
        #expect(router.place(of: write.target).store == "renamed")
        await router.close()
    }

    @Test func `A body that was put elsewhere before the store came is brought to it`() async throws {
        let router = StoreRouter(try folders.0.open())
        let bytes = [UInt8](repeating: 5, count: 50_000)
        let content = try await router.makeContent(bytes, for: .copy, at: Target(unchecked: "/b/1"))
        let other = try folders.1.open()
        _ = try await router.put("other", patterns: [PathPattern("/b/**")], store: other, isStarted: true)
        try await router.commit([.putCopy(key("/b/1"), sampleCopy(content))], durable: true)
        #expect(try await other.bytes(of: content, limit: 1 << 20) == bytes)
        await router.close()
    }

    @Test func `A copy is of this start exactly while its store has not been opened again`() async throws {
        for _ in 1...3 { await (try folders.1.open()).close() }
        let (router, other) = try await open()
        try await router.commit([.putCopy(key("/b/1"), try await copy("a", in: router, at: "/b/1"))], durable: true)
        #expect(try await router.entry(key("/b/1"))?.copies.first?.epoch == router.epoch)
        router.stop("other", detaching: true, try await router.image(of: "other"))
        await other.close()
        _ = try await router.put(
            "other", patterns: [PathPattern("/b/**")], store: try folders.1.open(), isStarted: true)
        #expect(try await router.entry(key("/b/1"))?.copies.first.map { $0.epoch < router.epoch } == true)
        await router.close()
    }

    @Test func `Prepared hits are forgotten when a store comes or goes`() async throws {
        let view = ShardedHitView(memoryLimit: 1 << 20)
        let (router, _) = try await open(view: view)
        let hit = PreparedHit(
            head: [1], notModifiedFrom: 1, body: [2], etag: 0..<0, bornAt: 0, freshUntil: 9)
        for change in ["stop", "start"] {
            view.publish(hit, for: key("/b/1"), route: .resources, ticket: view.ticket(key("/b/1")))
            #expect(view.bytes > 0)
            if change == "stop" {
                router.stop("other", detaching: false, try await router.image(of: "other"))
            } else {
                _ = try await router.start("other")
            }
            #expect(view.bytes == 0)
        }
        await router.close()
    }
}
