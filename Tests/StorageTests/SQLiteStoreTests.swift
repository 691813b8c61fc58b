import CacheCore
import Glibc
import HTTPModel
import Storage
import TestSupport
import Testing

@Suite struct `SQLite store` {
    private let key = EntryKey(partition: .none, target: Target(unchecked: "/a?x=1"))

    @Test func `An entry, an operation and a conflict are the same after a restart`() async throws {
        let folder = TemporaryFolder()
        let store = try folder.open()
        let content = try await store.makeContent(Array("hello".utf8), for: .copy)
        let copy = sampleCopy(content)
        let operation = sampleOperation(1, content)
        let conflict = sampleConflict(content)
        try await store.commit(
            [.putCopy(key, copy), .putOperation(operation), .putConflict(conflict)], durable: true)
        await store.close()

        let again = try folder.open()
        #expect(try await again.entry(key)?.copies == [copy])
        let queue = try await again.loadQueue()
        #expect(queue.operations == [operation])
        #expect(queue.conflicts == [conflict])
        #expect(queue.lastSequence == 1)
        #expect(again.epoch == store.epoch + 1)
        #expect(again.partitionKey == store.partitionKey)
        await again.close()
    }

    @Test func `An effective copy that is the body comes back with it, and another one too`() async throws {
        let folder = TemporaryFolder()
        let store = try folder.open()
        let body = try await store.makeContent(Array("sent".utf8), for: .operation)
        let patched = try await store.makeContent(Array("patched".utf8), for: .operation)
        var operations = (1...3).map { sampleOperation($0, body) }
        operations[0].effective = body
        operations[1].effective = patched
        operations[2].effective = nil
        try await store.commit(operations.map { .putOperation($0) }, durable: true)
        await store.close()
        let again = try folder.open()
        let found = try await again.loadQueue().operations
        #expect(found.map(\.effective?.inline) == [body.inline, patched.inline, nil])
        #expect(found.map(\.body?.inline) == Array(repeating: body.inline, count: 3))
        await again.close()
    }

    @Test func `The newest of a key is found, made of an id or brought by a client`() async throws {
        let folder = TemporaryFolder()
        let store = try folder.open()
        var first = sampleOperation(1, nil)
        first.id = IDs.operation(now: 1)
        first.idempotencyKey = IDs.idempotencyKey(of: first.id)
        first.state = .superseded
        first.finishedAt = 4_000_000_000
        var merged = sampleOperation(2, nil)
        merged.idempotencyKey = first.idempotencyKey
        merged.mergedKeys = ["client's"]
        merged.state = .delivered
        merged.finishedAt = 4_000_000_000
        try await store.commit([.putOperation(first)], durable: true)
        #expect(try await store.operation(partition: .none, key: first.idempotencyKey)?.id == first.id)
        try await store.commit([.putOperation(merged)], durable: true)
        for key in [first.idempotencyKey, "client's"] {
            #expect(try await store.operation(partition: .none, key: key)?.id == merged.id)
        }
        #expect(try await store.operation(partition: .none, key: IDs.idempotencyKey(of: merged.id)) == nil)
        await store.close()
    }

    @Test func `What is used counts the operations that are not final`() async throws {
        let folder = TemporaryFolder()
        let store = try folder.open()
        var operations = (1...3).map { sampleOperation($0, nil) }
        try await store.commit(operations.map { .putOperation($0) }, durable: true)
        operations[1].state = .delivered
        operations[1].finishedAt = 4_000_000_000
        try await store.commit([.putOperation(operations[1])], durable: true)
        #expect(await store.usage().unfinished == 2)
        await store.close()
    }

    @Test func `A copy of the folder taken while it is open holds every durable commit`() async throws {
        let folder = TemporaryFolder()
        let store = try folder.open()
        try await store.commit([.putOperation(sampleOperation(1, nil))], durable: true)
        let copy = TemporaryFolder()
        for suffix in ["", "-wal"] { copy.take("holdfast.sqlite" + suffix, from: folder) }
        let crashed = try copy.open()
        #expect(try await crashed.loadQueue().operations.map(\.sequence) == [1])
        await crashed.close()
        await store.close()
    }

    @Test func `A folder that is open is refused to a second store`() async throws {
        let folder = TemporaryFolder()
        let store = try folder.open()
        #expect(throws: StoreOpenError.inUse) { try folder.open() }
        await store.close()
    }

    @Test func `Closing ends with the last connection, so that the folder can be opened again at once`() async throws {
        let folder = TemporaryFolder()
        for round in 1...50 {
            let store = try folder.open()
            try await store.commit([.putOperation(sampleOperation(Int64(round), nil))], durable: true)
            await store.close()
            #expect(folder.openFiles("holdfast.sqlite") == 0)
        }
    }

    @Test func `Commits that come together share transactions`() async throws {
        let folder = TemporaryFolder()
        let store = try folder.open()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 1...200 {
                group.addTask {
                    try await store.commit([.putOperation(sampleOperation(Int64(number), nil))], durable: true)
                }
            }
            try await group.waitForAll()
        }
        #expect(store.transactionCount < 200)
        #expect(try await store.loadQueue().operations.count == 200)
        await store.close()
    }

    @Test func `The key that is made of an id finds the unfinished operation, in its partition alone`() async throws {
        let folder = TemporaryFolder()
        let store = try folder.open()
        var operation = sampleOperation(1, nil)
        operation.id = IDs.operation(now: 1)
        operation.idempotencyKey = IDs.idempotencyKey(of: operation.id)
        operation.partition = PartitionID(high: 1, low: 2)
        var merged = sampleOperation(2, nil)
        merged.id = IDs.operation(now: 1)
        merged.mergedKeys = [IDs.idempotencyKey(of: merged.id)]
        try await store.commit([.putOperation(operation), .putOperation(merged)], durable: true)
        let key = operation.idempotencyKey
        #expect(try await store.operation(partition: operation.partition, key: key) == operation)
        #expect(try await store.operation(partition: .none, key: key) == nil)
        for key in merged.keys { #expect(try await store.operation(partition: .none, key: key) == merged) }
        await store.close()
    }

    @Test func `A finished operation is found by id and key`() async throws {
        let folder = TemporaryFolder()
        let store = try folder.open()
        var operation = sampleOperation(1, nil)
        try await store.commit([.putOperation(operation)], durable: true)
        operation.state = .delivered
        operation.finishedAt = 5
        try await store.commit([.putOperation(operation)], durable: true)
        #expect(try await store.loadQueue().operations.isEmpty)
        #expect(try await store.operation(operation.id) == operation)
        #expect(try await store.operation(partition: .none, key: operation.idempotencyKey) == operation)
        await store.close()
    }

    @Test func `A long body is read back whole and in part, also after a restart`() async throws {
        let folder = TemporaryFolder()
        let store = try folder.open()
        let bytes = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        let content = try await store.makeContent(bytes, for: .copy)
        try await store.commit([.putCopy(key, sampleCopy(content))], durable: true)
        #expect(try await store.bytes(of: content, limit: 1 << 20) == bytes)
        await store.close()
        let again = try folder.open()
        let part = try await again.read(content, range: 10..<20)
        #expect(try await part.next() == Array(bytes[10..<20]))
        try await again.commit([.removeEntry(key)], durable: true)
        await #expect(throws: StoreError.self) { try await again.read(content, range: nil) }
        #expect(await again.usage().copies == 0)
        await again.close()
    }

    @Test func `Copies make room by use, and what does not fit is refused`() async throws {
        let folder = TemporaryFolder()
        let store = try folder.open(StoreOptions(maxStoreSize: 40_000))
        for number in 0..<10 {
            let content = try await store.makeContent(
                [UInt8](repeating: UInt8(number), count: 8_000), for: .copy)
            let key = EntryKey(partition: .none, target: Target(unchecked: "/\(number)"))
            try await store.commit([.putCopy(key, sampleCopy(content))], durable: true)
        }
        #expect(await store.usage().copies <= 36_000)
        #expect(try await store.entry(EntryKey(partition: .none, target: Target(unchecked: "/9"))) != nil)
        await #expect(throws: StoreError.tooLarge) { try await store.makeBody(for: .operation, length: 50_000) }
        await store.close()
    }

    @Test func `A damaged database is kept aside and the rest goes on`() async throws {
        let folder = TemporaryFolder()
        let store = try folder.open()
        try await store.commit([.putOperation(sampleOperation(1, nil))], durable: true)
        await store.close()
        folder.overwriteHeader()
        let again = try folder.open()
        try await again.commit([.putOperation(sampleOperation(2, nil))], durable: true)
        #expect(try await again.loadQueue().operations.contains { $0.sequence == 2 })
        await again.close()
    }
}
