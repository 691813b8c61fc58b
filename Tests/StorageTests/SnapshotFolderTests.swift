import CacheCore
import Storage
import TestSupport
import Testing

@Suite struct `Snapshots in files` {
    private let folder = TemporaryFolder()

    private func files(_ store: SQLiteStore) -> SnapshotFolder {
        SnapshotFolder(beside: store) { [path = folder.path] in path + "/" + $0 }
    }

    private struct Broken: Error {}

    @Test func `A file is there when it is whole, and one before it until then`() async throws {
        let store = try folder.open()
        let files = self.files(store)
        try await files.write("a.ndjson") { write in try await write(Array("old".utf8)) }
        try await files.write("a.ndjson") { write in
            try await write(Array("ne".utf8))
            #expect(folder.bytes("a.ndjson") == Array("old".utf8))
            try await write(Array("w".utf8))
        }
        #expect(folder.bytes("a.ndjson") == Array("new".utf8))
        await #expect(throws: Broken.self) { try await files.write("a.ndjson") { _ in throw Broken() } }
        #expect(folder.bytes("a.ndjson") == Array("new".utf8))
        #expect(!folder.has("a.ndjson.new"))
        await store.close()
    }

    @Test func `It is read piece by piece to its end`() async throws {
        let store = try folder.open()
        let files = self.files(store)
        let bytes = (0..<600_000).map { UInt8(truncatingIfNeeded: $0) }
        try await files.write("a.ndjson") { write in try await write(bytes) }
        let next = try await files.read("a.ndjson")
        var read: [UInt8] = []
        while let piece = try await next() { read += piece }
        #expect(read == bytes)
        await store.close()
    }

    @Test func `Nothing but snapshots is read or replaced`() async throws {
        let store = try folder.open()
        let files = self.files(store)
        for name in ["holdfast.sqlite", "partition.key", "a", "a.ndjson.new"] {
            let problem = #expect(throws: Problem.self) { try files.check(name) }
            #expect(problem?.code == .locationNotAllowed)
            await #expect(throws: Problem.self) { try await files.write(name) { _ in } }
            await #expect(throws: Problem.self) { _ = try await files.read(name) }
        }
        await store.close()
    }

    @Test func `What is not there is not found`() async throws {
        let store = try folder.open()
        for name in ["none.ndjson", "none/a.ndjson"] {
            let problem = await #expect(throws: Problem.self) { _ = try await files(store).read(name) }
            #expect(problem?.code == .notFound)
        }
        let problem = await #expect(throws: Problem.self) { try await files(store).write("none/a.ndjson") { _ in } }
        #expect(problem?.code == .notFound)
        await store.close()
    }
}
