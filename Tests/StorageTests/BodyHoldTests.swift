import CacheCore
import HTTPModel
import TestSupport
import Testing

@testable import Storage

@Suite struct `Body files` {
    private let folder = TemporaryFolder()

    private func key(_ name: String) -> EntryKey {
        EntryKey(partition: .none, target: Target(unchecked: name))
    }

    private func name(_ digest: Digest) -> String { "bodies/\(digest.hex.prefix(2))/\(digest.hex)" }

    @Test func `A body that nothing was committed with goes with its last value`() async throws {
        let store = try folder.open()
        var content: Content? = try await store.makeContent([UInt8](repeating: 3, count: 50_000), for: .operation)
        let digest = try #require(content?.digest)
        #expect(folder.has(name(digest)))
        content = nil
        try await eventually {
            try await store.save()
            return !folder.has(name(digest))
        }
        await store.close()
    }

    @Test func `A body stays through the removal of a row while a value holds it, and goes after both`() async throws {
        let store = try folder.open()
        var content: Content? = try await store.makeContent([UInt8](repeating: 3, count: 50_000), for: .copy)
        let digest = try #require(content?.digest)
        try await store.commit([.putCopy(key("/a"), sampleCopy(try #require(content)))], durable: true)
        try await store.commit([.removeEntry(key("/a"))], durable: true)
        #expect(folder.has(name(digest)))
        content = nil
        try await eventually {
            try await store.save()
            return !folder.has(name(digest))
        }
        await store.close()
    }

    @Test func `The bytes of an entry that was read outlive its removal while somebody works with them`() async throws {
        let store = try folder.open()
        let bytes = [UInt8](repeating: 3, count: 50_000)
        let digest = SHA256.digest(of: bytes)
        try await store.commit(
            [.putCopy(key("/a"), sampleCopy(try await store.makeContent(bytes, for: .copy)))], durable: true)
        var entry = try await store.entry(key("/a"))
        try await store.commit([.removeEntry(key("/a"))], durable: true)
        let content = try #require(entry?.copies.first?.content)
        #expect(try await store.bytes(of: content, limit: 1 << 20) == bytes)
        try await store.commit([.putCopy(key("/b"), sampleCopy(content))], durable: true)
        entry = nil
        #expect(folder.has(name(digest)))
        await store.close()
    }

    @Test func `An entry whose body has gone is still there`() async throws {
        let store = try folder.open()
        let content = try await store.makeContent([UInt8](repeating: 3, count: 50_000), for: .copy)
        try await store.commit([.putCopy(key("/a"), sampleCopy(content))], durable: true)
        folder.remove(name(content.digest))
        #expect(try await store.entry(key("/a"))?.copies.count == 1)
        await store.close()
    }

    @Test func `A commit that refers to a body that is gone is refused`() async throws {
        let store = try folder.open()
        let gone = Content(digest: SHA256.digest(of: [1]), length: 50_000, inline: nil)
        await #expect(throws: StoreError.self) {
            try await store.commit([.putOperation(sampleOperation(1, gone))], durable: true)
        }
        #expect(try await store.loadQueue().operations.isEmpty)
        await store.close()
    }

    @Test func `An operation whose body is gone can still be recorded as failed`() async throws {
        let store = try folder.open()
        let content = try await store.makeContent([UInt8](repeating: 3, count: 50_000), for: .operation)
        var operation = sampleOperation(1, content)
        try await store.commit([.putOperation(operation)], durable: true)
        folder.remove(name(content.digest))
        operation.state = .failed
        operation.reason = "body"
        try await store.commit([.putOperation(operation)], durable: true)
        #expect(try await store.loadQueue().operations.first?.state == .failed)
        await store.close()
    }

    @Test func `Bytes count once, for operations where one needs them`() async throws {
        let store = try folder.open()
        let content = try await store.makeContent([UInt8](repeating: 3, count: 400_000), for: .copy)
        for name in ["/a", "/b"] { try await store.commit([.putCopy(key(name), sampleCopy(content))], durable: true) }
        #expect((400_000..<402_000).contains(await store.usage().copies))
        var operation = sampleOperation(1, content)
        try await store.commit([.putOperation(operation)], durable: true)
        #expect(await store.usage().copies < 2_000)
        #expect((400_000..<402_000).contains(await store.usage().operations))
        operation.state = .delivered
        operation.finishedAt = 5
        operation.body = nil
        operation.effective = nil
        operation.base = .unknown
        operation.lastAnswer = nil
        try await store.commit([.putOperation(operation)], durable: true)
        #expect((400_000..<402_000).contains(await store.usage().copies))
        #expect(await store.usage().operations < 2_000)
        for name in ["/a", "/b"] { try await store.commit([.removeEntry(key(name))], durable: true) }
        #expect(await store.usage().copies == 0)
        await store.close()
    }
}
