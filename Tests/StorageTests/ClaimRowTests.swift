import CacheCore
import HTTPModel
import TestSupport
import Testing

@testable import Storage

/// How a claim is kept: beside the operation's row, which it leaves alone.
@Suite struct `Claims on disk` {
    private let folder = TemporaryFolder()

    private func claimed(_ operation: Operation) -> Operation {
        var claimed = operation
        claimed.claim()
        return claimed
    }

    /// The records of `operations`, in order, and what `sending` names.
    private func rows(_ store: SQLiteStore) async throws -> (records: [[UInt8]], sending: [Int64]) {
        try await store.read { connection in
            var rows: (records: [[UInt8]], sending: [Int64]) = ([], [])
            let operations = try connection.statement("SELECT record FROM operations ORDER BY sequence")
            while try operations.step() { rows.records.append(operations.blob(0)) }
            operations.reset()
            let sending = try connection.statement("SELECT operation FROM sending ORDER BY operation")
            while try sending.step() { rows.sending.append(sending.integer(0)) }
            sending.reset()
            return rows
        }
    }

    @Test func `A claim is on disk, and the row is as it was`() async throws {
        let operations = (1...3).map { sampleOperation($0, nil) }
        let store = try folder.open()
        try await store.commit(operations.map { .putOperation($0) }, durable: true)
        let before = try await rows(store).records
        try await store.commit([.putOperation(claimed(operations[1]))], durable: true)
        let after = try await rows(store)
        #expect(after.records == before)
        #expect(after.sending == [2])
        #expect(try await store.loadQueue().operations == [operations[0], claimed(operations[1]), operations[2]])
        await store.close()
        let again = try folder.open()
        #expect(try await again.loadQueue().operations == [operations[0], claimed(operations[1]), operations[2]])
        await again.close()
    }

    @Test func `A claim that changes more than a claim does is written as a whole`() async throws {
        let operation = sampleOperation(1, nil)
        var other = claimed(operation)
        other.membersBefore = .unreadable
        let store = try folder.open()
        try await store.commit([.putOperation(operation)], durable: true)
        try await store.commit([.putOperation(other)], durable: true)
        #expect(try await rows(store).sending.isEmpty)
        await store.close()
        let again = try folder.open()
        #expect(try await again.loadQueue().operations == [other])
        await again.close()
    }

    @Test func `What came of it takes the claim's place`() async throws {
        var (retried, delivered) = (sampleOperation(1, nil), sampleOperation(2, nil))
        let store = try folder.open()
        try await store.commit([.putOperation(retried), .putOperation(delivered)], durable: true)
        try await store.commit([.putOperation(claimed(retried)), .putOperation(claimed(delivered))], durable: true)
        retried.claim()
        retried.state = .pending
        delivered.claim()
        delivered.state = .delivered
        delivered.finishedAt = 4_000_000_000
        try await store.commit([.putOperation(retried), .putOperation(delivered)], durable: true)
        #expect(try await rows(store).sending.isEmpty)
        await store.close()
        let again = try folder.open()
        #expect(try await again.loadQueue().operations == [retried])
        #expect(try await again.operation(delivered.id) == delivered)
        // Its next attempt is the second.
        try await again.commit([.putOperation(claimed(retried))], durable: true)
        #expect(try await again.loadQueue().operations.map(\.attempts) == [2])
        await again.close()
    }

    @Test func `Salvage keeps claims, and takes every operation for claimed where they can't be read`() async throws {
        let operations = (1...2).map { sampleOperation($0, nil) }
        let store = try folder.open()
        try await store.commit(operations.map { .putOperation($0) }, durable: true)
        try await store.commit([.putOperation(claimed(operations[1]))], durable: true)
        await store.close()
        folder.write([], to: "holdfast.sqlite.suspect")
        let salvaged = try folder.open()
        #expect(try await salvaged.loadQueue().operations == [operations[0], claimed(operations[1])])
        try await salvaged.write(.other { try $0.connection.execute("DROP TABLE sending") }, durable: true)
        await salvaged.close()
        folder.write([], to: "holdfast.sqlite.suspect")
        let again = try folder.open()
        #expect(try await again.loadQueue().operations == operations.map { claimed($0) })
        await again.close()
    }

    @Test func `One change that fails takes none of those with it that come with it`() async throws {
        let missing = Content(digest: Digest(bytes: [UInt8](repeating: 9, count: 32)), length: 100_000, inline: nil)
        let store = try folder.open()
        let results = await withTaskGroup(of: (Int64, Bool).self) { group in
            for number in Int64(1)...200 {
                group.addTask {
                    let operation = sampleOperation(number, number % 10 == 0 ? missing : nil)
                    let isKept = (try? await store.commit([.putOperation(operation)], durable: true)) != nil
                    return (number, isKept)
                }
            }
            return await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
        }
        for (number, isKept) in results { #expect(isKept == (number % 10 != 0)) }
        #expect(try await store.loadQueue().operations.count == 180)
        #expect(store.transactionCount < 200)
        await store.close()
    }
}
