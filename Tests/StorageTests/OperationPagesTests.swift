import CacheCore
import TestSupport
import Testing

@testable import Storage

@Suite struct `Pages of operations` {
    private let folder = TemporaryFolder()

    private func ids(_ store: SQLiteStore, limit: Int, between: () async throws -> Void = {}) async throws -> [String] {
        var found: [String] = []
        var after: String?
        repeat {
            let page = try await store.operations(partitions: nil, states: nil, after: after, limit: limit)
            found += page.items.map(\.id.text)
            after = page.next
            try await between()
        } while after != nil
        return found
    }

    /// Were each page made of all operations, this would take minutes.
    @Test(.timeLimit(.minutes(1))) func `A page costs its own length, however many operations wait`() async throws {
        let store = try folder.open()
        let operations = (1...10_000).map { sampleOperation($0, nil) }
        try await store.commit(operations.map { .putOperation($0) }, durable: false)
        #expect(try await ids(store, limit: 1) == operations.map(\.id.text))
        await store.close()
    }

    @Test func `Operations that come, go and end while pages are read are each shown once`() async throws {
        let store = try folder.open()
        let operations = (1...60).map { sampleOperation(2 * $0, nil) }
        try await store.commit(operations.map { .putOperation($0) }, durable: false)
        var number = 0
        let found = try await ids(store, limit: 10) {
            number += 1
            var ended = operations[(number * 10 + 5) % 60]
            ended.state = .delivered
            ended.finishedAt = 1
            let early = sampleOperation(Int64(2 * number - 1), nil)
            let late = sampleOperation(Int64(1_000 + number), nil)
            try await store.commit([ended, early, late].map { .putOperation($0) }, durable: false)
        }
        let expected = operations.map(\.id.text) + (1...6).map { sampleOperation(1_000 + $0, nil).id.text }
        #expect(found == expected)
        #expect(try await ids(store, limit: 7).count == 74)
        await store.close()
    }
}
