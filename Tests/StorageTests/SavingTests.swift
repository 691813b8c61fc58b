import CacheCore
import HTTPModel
import Storage
import TestSupport
import Testing

@Suite struct `Saving by mode` {
    private let folder = TemporaryFolder()

    private func open(_ mode: CacheMode) throws -> SQLiteStore { try folder.open(StoreOptions(mode: mode)) }

    private func key(_ target: String) -> EntryKey { EntryKey(partition: .none, target: Target(unchecked: target)) }

    private func put(_ text: String, at target: String, in store: SQLiteStore) async throws {
        let content = try await store.makeContent(Array(text.utf8), for: .copy)
        try await store.commit([.putCopy(key(target), sampleCopy(content))], durable: true)
    }

    private func text(at target: String, in store: SQLiteStore) async throws -> String? {
        guard let content = try await store.entry(key(target))?.copies.first?.content else { return nil }
        return String(decoding: try await store.bytes(of: content, limit: 1 << 20), as: UTF8.self)
    }

    @Test func `Saved by hand, the next start has what was saved last`() async throws {
        let long = String(repeating: "long ", count: 10_000)
        var store = try open(.manualSaving)
        try await put("one", at: "/a", in: store)
        try await put(long, at: "/b", in: store)
        try await put("gone", at: "/c", in: store)
        #expect(try await store.save(for: .demand))
        try await put("two", at: "/a", in: store)
        try await put("short", at: "/b", in: store)
        try await put("new", at: "/d", in: store)
        try await store.commit([.removeEntry(key("/c"))], durable: true)
        #expect(try await text(at: "/a", in: store) == "two")
        #expect(try await !store.save(for: .background))
        #expect(try await !store.save(for: .shutdown))
        await store.close()
        for _ in 1...2 {
            store = try open(.manualSaving)
            #expect(try await text(at: "/a", in: store) == "one")
            #expect(try await text(at: "/b", in: store) == long)
            #expect(try await text(at: "/c", in: store) == "gone")
            #expect(try await text(at: "/d", in: store) == nil)
            #expect(await store.usage().entries == 3)
            try await put("again", at: "/a", in: store)
            await store.close()
        }
    }

    @Test func `Initialized, the cache begins empty and leaves what was saved`() async throws {
        var store = try open(.automatic)
        try await put("saved", at: "/a", in: store)
        await store.close()
        store = try open(.initialized)
        #expect(try await text(at: "/a", in: store) == nil)
        #expect(await store.usage().copies == 0)
        try await put("session", at: "/a", in: store)
        #expect(try await text(at: "/a", in: store) == "session")
        #expect(try await !store.save(for: .demand))
        await store.close()
        store = try open(.automatic)
        #expect(try await text(at: "/a", in: store) == "saved")
        await store.close()
    }

    private func fillSaved(_ long: String) async throws {
        let store = try folder.open(StoreOptions(maxStoreSize: 350_000))
        try await put(long + "a", at: "/a", in: store)
        try await put(long + "b", at: "/b", in: store)
        await store.close()
    }

    @Test func `What makes room is gone from the next start too`() async throws {
        let long = String(repeating: "long ", count: 20_000)
        try await fillSaved(long)
        var store = try folder.open(StoreOptions(maxStoreSize: 350_000, mode: .manualSaving))
        for target in ["/c", "/d", "/e", "/f"] {
            try await put(long + target, at: target, in: store)
            #expect(try await text(at: target, in: store) == long + target)
        }
        #expect(await store.usage().copies <= 350_000)
        await store.close()
        store = try folder.open(StoreOptions(maxStoreSize: 350_000))
        for target in ["/a", "/b"] { #expect(try await text(at: target, in: store) == nil) }
        await store.close()
    }

    @Test func `Saved copies make way where nothing of the session can`() async throws {
        let long = String(repeating: "long ", count: 20_000)
        try await fillSaved(long)
        var store = try folder.open(StoreOptions(maxStoreSize: 350_000, mode: .initialized))
        try await put(long + long + "c", at: "/c", in: store)
        #expect(try await text(at: "/c", in: store) == long + long + "c")
        await store.close()
        store = try folder.open(StoreOptions(maxStoreSize: 350_000))
        let left = [try await text(at: "/a", in: store), try await text(at: "/b", in: store)].compactMap { $0 }
        #expect(left.count == 1)
        await store.close()
    }

    @Test func `Automatic takes over what another mode had not saved`() async throws {
        var store = try open(.manualSaving)
        try await put("unsaved", at: "/a", in: store)
        try await store.setMode(.automatic)
        await store.close()
        store = try open(.manualSaving)
        #expect(try await text(at: "/a", in: store) == "unsaved")
        await store.close()
    }

    @Test func `Operations are on disk in every mode`() async throws {
        for (number, mode) in CacheMode.allCases.enumerated() {
            let store = try open(mode)
            try await store.commit([.putOperation(sampleOperation(Int64(number), nil))], durable: true)
            await store.close()
        }
        let store = try open(.automatic)
        #expect(try await store.loadQueue().operations.count == 4)
        await store.close()
    }

    @Test func `Nothing is kept without a cache, and what has changed meanwhile is no longer fresh`() async throws {
        var store = try open(.automatic)
        try await put("saved", at: "/a", in: store)
        await store.close()
        store = try open(.no)
        try await put("delivered", at: "/a", in: store)
        try await put("new", at: "/b", in: store)
        await store.close()
        store = try open(.automatic)
        let copy = try await store.entry(key("/a"))?.copies.first
        #expect(copy?.isExpired == true)
        #expect(try await text(at: "/a", in: store) == "saved")
        #expect(try await text(at: "/b", in: store) == nil)
        await store.close()
    }
}
