import CacheCore
import Glibc
import HTTPModel
import TestSupport
import Testing

@testable import Storage

@Suite struct `Uploads` {
    private let folder = TemporaryFolder()
    private let clock = ManualClock()

    private func open() throws -> SQLiteStore {
        try SQLiteStore.open(folder: folder.path, clock: clock, log: SilentLog())
    }

    private func begin(_ id: String = "u1", in store: SQLiteStore) async throws {
        try await store.create(
            Upload(id: id, partition: .none, mediaType: "a/b", length: nil, createdAt: clock.now, changedAt: clock.now))
    }

    @Test func `What was told to be there is there after a restart, and nothing more`() async throws {
        let store = try open()
        try await begin(in: store)
        #expect(try await store.append([1, 2, 3], to: "u1", at: 0) == .taken)
        #expect(try await store.upload("u1")?.offset == 3)
        #expect(try await store.append([4, 5], to: "u1", at: 3) == .taken)
        await store.close()

        let again = try open()
        let upload = try #require(try await again.upload("u1"))
        #expect(upload.offset == 3)
        #expect(upload.mediaType == "a/b")
        #expect(folder.bytes("uploads/u1") == [1, 2, 3])
        #expect(try await again.append([9], to: "u1", at: 3) == .taken)
        let content = try #require(try await again.seal("u1"))
        #expect(try await again.bytes(of: content, limit: 100) == [1, 2, 3, 9])
        await again.close()
    }

    @Test func `Room is made for what fits, and refused for what does not or never will`() async throws {
        let store = try SQLiteStore.open(
            folder: folder.path, options: StoreOptions(maxStoreSize: 1 << 20), clock: clock, log: SilentLog())
        try await store.makeRoom(for: 1 << 19)
        await #expect(throws: StoreError.tooLarge) { try await store.makeRoom(for: 1 << 20 + 1) }
        try await begin(in: store)
        _ = try await store.append([UInt8](repeating: 1, count: 600 << 10), to: "u1", at: 0)
        _ = try await store.upload("u1")
        await #expect(throws: StoreError.full) { try await store.makeRoom(for: 1 << 19) }
        await store.close()
    }

    @Test func `A part for another offset is refused with the present one`() async throws {
        let store = try open()
        try await begin(in: store)
        _ = try await store.append([1, 2, 3], to: "u1", at: 0)
        #expect(try await store.append([9], to: "u1", at: 2) == .elsewhere(3))
        #expect(try await store.append([9], to: "u1", at: 4) == .elsewhere(3))
        #expect(try await store.append([9], to: "u2", at: 0) == .absent)
        await store.close()
    }

    @Test func `What is taken back is not there after a restart`() async throws {
        let store = try open()
        try await begin(in: store)
        _ = try await store.append([1, 2, 3], to: "u1", at: 0)
        _ = try await store.upload("u1")
        try await store.truncate("u1", to: 1)
        #expect(try await store.append([7], to: "u1", at: 1) == .taken)
        #expect(try await store.upload("u1")?.offset == 2)
        await store.close()
        let again = try open()
        #expect(try await again.upload("u1")?.offset == 2)
        #expect(folder.bytes("uploads/u1") == [1, 7])
        await again.close()
    }

    @Test func `A sealed upload takes no more, and its bytes stay while a write refers to them`() async throws {
        let store = try open()
        let bytes = [UInt8](repeating: 6, count: 40_000)
        try await begin(in: store)
        _ = try await store.append(bytes, to: "u1", at: 0)
        let content = try #require(try await store.seal("u1"))
        #expect(try await store.append([1], to: "u1", at: 40_000) == .sealed)
        #expect(try await store.seal("u1") == content)
        #expect(!folder.has("uploads/u1"))
        #expect(folder.mode(name(content)) == 0o400)
        try await store.commit([.putOperation(sampleOperation(1, content))], durable: true)
        #expect(try await store.removeUpload("u1"))
        #expect(try await store.removeUpload("u1") == false)
        #expect(try await store.bytes(of: content, limit: 1 << 20) == bytes)
        await store.close()
    }

    @Test func `An upload counts with its bytes once, before and after it is used`() async throws {
        let store = try open()
        try await begin(in: store)
        _ = try await store.append([UInt8](repeating: 6, count: 400_000), to: "u1", at: 0)
        _ = try await store.upload("u1")
        #expect((400_000..<402_000).contains(await store.usage().operations))
        let content = try #require(try await store.seal("u1"))
        try await store.commit([.putOperation(sampleOperation(1, content))], durable: true)
        #expect((400_000..<402_000).contains(await store.usage().operations))
        _ = try await store.removeUpload("u1")
        #expect((400_000..<402_000).contains(await store.usage().operations))
        await store.close()
    }

    @Test func `An upload that nobody touches for a day goes with its file`() async throws {
        let store = try open()
        func removeOld() async throws {
            try await store.write(.other { transaction in while try transaction.removeOld() {} }, durable: false)
        }
        try await begin(in: store)
        try await begin("u2", in: store)
        clock.advance(by: 86_000)
        _ = try await store.append([1], to: "u2", at: 0)
        _ = try await store.upload("u2")
        clock.advance(by: 1_000)
        try await removeOld()
        #expect(try await store.upload("u1") == nil)
        #expect(try await store.upload("u2")?.offset == 1)
        #expect(!folder.has("uploads/u1"))
        await store.close()
    }

    @Test func `Of any number of unfinished uploads few are open, and each goes on where it was`() async throws {
        let store = try open()
        let names = (0..<3 * UploadFolder.openLimit).map { "u\($0)" }
        for name in names {
            try await begin(name, in: store)
            #expect(try await store.append([1, 2], to: name, at: 0) == .taken)
        }
        #expect(folder.openFiles("uploads/") == UploadFolder.openLimit)
        for name in names { #expect(try await store.append([3], to: name, at: 2) == .taken) }
        for name in names {
            let content = try #require(try await store.seal(name))
            #expect(try await store.bytes(of: content, limit: 100) == [1, 2, 3])
        }
        #expect(folder.openFiles("uploads/") == 0)
        await store.close()
    }

    @Test func `Uploads go with their partition to another`() async throws {
        let store = try open()
        try await begin(in: store)
        let other = PartitionID(high: 1, low: 2)
        try await store.commit([.movePartition(from: .none, to: other)], durable: true)
        #expect(try await store.upload("u1")?.partition == other)
        #expect(try await store.uploads(partitions: [other], after: nil, limit: 10).items.count == 1)
        await store.close()
    }

    @Test func `Files of uploads that no row speaks of are removed at start`() async throws {
        let store = try open()
        try await begin(in: store)
        await store.close()
        folder.put([1, 2], "uploads/lost")
        let again = try open()
        #expect(!folder.has("uploads/lost"))
        #expect(try await again.upload("u1")?.offset == 0)
        await again.close()
    }

    @Test func `An upload whose seal a crash undid becomes a file of its own before it is written`() async throws {
        let store = try open()
        try await begin(in: store)
        _ = try await store.append([1, 2, 3], to: "u1", at: 0)
        _ = try await store.upload("u1")
        await store.close()
        link(folder.path + "/uploads/u1", folder.path + "/shared")
        let again = try open()
        #expect(try await again.append([4], to: "u1", at: 3) == .taken)
        #expect(folder.bytes("uploads/u1") == [1, 2, 3, 4])
        #expect(folder.bytes("shared") == [1, 2, 3])
        await again.close()
    }

    @Test func `An upload goes on where it was after its use could not be noted`() async throws {
        let store = try open()
        try await begin(in: store)
        _ = try await store.append([1, 2, 3], to: "u1", at: 0)
        let refuse = "CREATE TRIGGER refuse BEFORE INSERT ON uploads BEGIN SELECT RAISE(ABORT, 'refused'); END"
        try await store.write(.other { try $0.connection.execute(refuse) }, durable: true)
        await #expect(throws: StoreError.self) { try await store.seal("u1") }
        try await store.write(.other { try $0.connection.execute("DROP TRIGGER refuse") }, durable: true)
        // As the body that was to be: one that is there with the same bytes must not change with the upload.
        let other = TemporaryFolder()
        link(folder.path + "/uploads/u1", other.path + "/shared")
        #expect(try await store.append([4], to: "u1", at: 3) == .taken)
        #expect(other.bytes("shared") == [1, 2, 3])
        #expect(folder.mode("uploads/u1") == 0o600)
        let content = try #require(try await store.seal("u1"))
        #expect(try await store.bytes(of: content, limit: 100) == [1, 2, 3, 4])
        await store.close()
    }

    private func name(_ content: Content) -> String { "bodies/\(content.digest.hex.prefix(2))/\(content.digest.hex)" }
}
