import CacheCore
import Faults
import HTTPModel
import TestSupport
import Testing

@testable import Storage

/// One after another: the rules hold for the whole process.
@Suite(.serialized) struct `Storage faults` {
    private let folder = TemporaryFolder()

    /// Sets rules on files of this test's folder: lines of a call, a name in the folder, and what becomes of it.
    private func fail(_ rules: [(call: String, name: String, what: String)]) {
        faults_set(rules.map { "\($0.call) \(folder.path)\($0.name) \($0.what)\n" }.joined())
    }

    /// Opens the store and waits until its upkeep has nothing to do, so that the faults meet the test's own work.
    private func openQuiet() async throws -> SQLiteStore {
        let clock = ManualClock()
        let store = try SQLiteStore.open(folder: folder.path, clock: clock, log: SilentLog())
        await eventually { clock.sleeperCount > 0 }
        try await store.save()
        return store
    }

    private func heal() { faults_set("") }

    /// Accepts an operation with a body of `size`.
    private func accept(_ number: Int64, size: Int = 100, in store: SQLiteStore) async -> StoreError? {
        do throws(StoreError) {
            let content = try await store.makeContent([UInt8](repeating: 7, count: size), for: .operation)
            try await store.commit([.putOperation(sampleOperation(number, content))], durable: true)
            return nil
        } catch {
            return error
        }
    }

    private var upload: Upload {
        let now = ManualClock().now
        return Upload(id: "u1", partition: .none, mediaType: "a/b", length: nil, createdAt: now, changedAt: now)
    }

    private func sequences(_ store: SQLiteStore) async throws -> [Int64] {
        try await store.loadQueue().operations.map(\.sequence)
    }

    @Test(arguments: [
        ("sync", "/holdfast.sqlite-wal", "EIO"), ("write", "/holdfast.sqlite-wal", "EIO"),
        ("write", "/holdfast.sqlite-wal", "EROFS"), ("write", "/holdfast.sqlite-wal", "ENOSPC"),
        ("sync", "/bodies/", "EIO"), ("write", "/bodies/tmp/", "ENOSPC"), ("create", "/bodies/tmp/", "EMFILE"),
        ("rename", "/bodies/", "EIO"),
    ])
    func `What can't be put on disk is refused, what lies there goes on, and it heals by itself`(
        call: String, name: String, error: String
    ) async throws {
        let store = try folder.open()
        #expect(await accept(1, size: 50_000, in: store) == nil)
        fail([(call, name, error)])
        let refusal = await accept(2, size: 60_000, in: store)
        #expect(faults_met() > 0)
        #expect(error == "ENOSPC" ? refusal == .full : refusal != nil)
        let kept = try #require(try await store.loadQueue().operations.first?.body)
        #expect(try await store.bytes(of: kept, limit: 1 << 20).count == 50_000)
        heal()
        #expect(await accept(3, size: 70_000, in: store) == nil)
        #expect(await store.usage().isFailing == false)
        await store.close()
        let again = try folder.open()
        #expect(try await sequences(again) == [1, 3])
        await again.close()
    }

    @Test func `After a failed commit nothing is confirmed until the database can be written anew`() async throws {
        let store = try await openQuiet()
        fail([("sync", "/holdfast.sqlite-wal", "EIO 0 3")])
        var refused = 0
        while refused < 100, await accept(1, in: store) != nil { refused += 1 }
        #expect(refused > 0 && refused < 100)
        #expect(faults_met() == 3)
        #expect(try await sequences(store) == [1])
        heal()
        await store.close()
    }

    @Test func `Short writes are taken up where they ended`() async throws {
        let store = try await openQuiet()
        fail([("write", "/", "short 0 50")])
        #expect(await accept(1, size: 50_000, in: store) == nil)
        #expect(faults_met() == 50)
        heal()
        await store.close()
        let again = try folder.open()
        let content = try #require(try await again.loadQueue().operations.first?.body)
        #expect(try await again.bytes(of: content, limit: 1 << 20) == [UInt8](repeating: 7, count: 50_000))
        await again.close()
    }

    @Test func `A body that can't be read is an error, and is whole when the disk reads again`() async throws {
        let store = try await openQuiet()
        #expect(await accept(1, size: 50_000, in: store) == nil)
        let content = try #require(try await store.loadQueue().operations.first?.body)
        fail([("read", "/bodies/", "EIO")])
        await #expect(throws: StoreError.failed(reason: "read: Input/output error")) {
            try await store.bytes(of: content, limit: 1 << 20)
        }
        heal()
        #expect(try await store.bytes(of: content, limit: 1 << 20).count == 50_000)
        await store.close()
    }

    @Test func `A part of an upload that could not be put on disk is sent again`() async throws {
        let store = try await openQuiet()
        try await store.create(upload)
        _ = try await store.append([1, 2, 3], to: "u1", at: 0)
        #expect(try await store.upload("u1")?.offset == 3)
        _ = try await store.append([4, 5], to: "u1", at: 3)
        fail([("sync", "/uploads/", "EIO 0 1")])
        await #expect(throws: StoreError.self) { try await store.upload("u1") }
        #expect(try await store.append([6], to: "u1", at: 5) == .elsewhere(3))
        #expect(try await store.append([7], to: "u1", at: 3) == .taken)
        let content = try #require(try await store.seal("u1"))
        #expect(try await store.bytes(of: content, limit: 100) == [1, 2, 3, 7])
        heal()
        await store.close()
    }

    @Test func `What a failed append left behind is no part of an upload`() async throws {
        let store = try await openQuiet()
        try await store.create(upload)
        _ = try await store.append([1, 2], to: "u1", at: 0)
        fail([("write", "/uploads/", "short 0 1"), ("write", "/uploads/", "ENOSPC 0 1")])
        await #expect(throws: StoreError.full) { try await store.append([8, 9], to: "u1", at: 2) }
        heal()
        let content = try #require(try await store.seal("u1"))
        #expect(try await store.bytes(of: content, limit: 100) == [1, 2])
        await store.close()
    }

    @Test func `A writer in another process is waited for`() async throws {
        let store = try await openQuiet()
        let other = try Connection(path: folder.path + "/holdfast.sqlite")
        try other.execute("BEGIN IMMEDIATE")
        async let refusal = accept(1, in: store)
        try other.execute("COMMIT")
        #expect(await refusal == nil)
        await store.close()
    }

    @Test func `Nothing is confirmed while the database is not in its folder`() async throws {
        let store = try await openQuiet()
        folder.rename("holdfast.sqlite", "elsewhere")
        #expect(await accept(1, in: store) != nil)
        #expect(await store.usage().isFailing)
        folder.rename("elsewhere", "holdfast.sqlite")
        #expect(await accept(2, in: store) == nil)
        await store.close()
        let again = try folder.open()
        #expect(try await sequences(again) == [2])
        await again.close()
    }

    @Test func `Entries are removed from a full disk`() async throws {
        let store = try await openQuiet()
        let content = try await store.makeContent([1, 2, 3], for: .copy)
        let key = EntryKey(partition: .none, target: Target(unchecked: "/a"))
        try await store.commit([.putCopy(key, sampleCopy(content))], durable: true)
        // The first write meets the full disk; the reserve makes room for the others.
        fail([("write", "/holdfast.sqlite-wal", "ENOSPC 0 1"), ("create", "/reserve", "ENOSPC")])
        try await store.commit([.removeEntry(key)], durable: true)
        #expect(try await store.entry(key) == nil)
        #expect(!folder.has("reserve"))
        heal()
        #expect(await accept(1, in: store) == nil)
        // Made anew beside the answer.
        await eventually { folder.has("reserve") }
        await store.close()
    }

    @Test(.enabled(if: faults_can_forbid_threads()))
    func `A store for which there is no thread is refused, and can be opened when there is one`() async throws {
        faults_set("thread plain EAGAIN")
        let error = #expect(throws: StoreOpenError.self) { try folder.open() }
        heal()
        #expect(error?.description.contains("no thread could be started") == true)
        let store = try folder.open()
        #expect(await accept(1, in: store) == nil)
        await store.close()
    }

    @Test func `A disk that can't be written is told at start`() throws {
        fail([("create", "/", "EROFS")])
        defer { heal() }
        let error = #expect(throws: StoreOpenError.self) { try folder.open() }
        #expect(error?.description.contains("Read-only file system") == true)
    }
}
