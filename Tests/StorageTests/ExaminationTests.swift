import CacheCore
import Glibc
import TestSupport
import Testing

@testable import Storage

@Suite struct `Examining a store's bodies` {
    private let folder = TemporaryFolder()

    private func examineAll(_ store: SQLiteStore) async throws -> BodyExamination {
        var sum = BodyExamination()
        repeat {
            let found = try await store.examine(after: sum.next)
            sum.checked += found.checked
            sum.bytes += found.bytes
            sum.damaged += found.damaged
            sum.next = found.next
        } while sum.next != nil
        return sum
    }

    @Test func `Every body is compared with its digest, those that were read before too`() async throws {
        let store = try folder.open()
        var contents: [Content] = []
        for number in 0..<5 {
            let bytes = [UInt8](repeating: UInt8(number), count: 100_000)
            contents.append(try await store.makeContent(bytes, for: .operation))
        }
        _ = try await store.makeContent([1, 2, 3], for: .operation)
        #expect(try await store.bodyCount() == 5)
        var found = try await examineAll(store)
        #expect((found.checked, found.bytes, found.damaged) == (5, 500_000, 0))
        let path = try #require(try await store.file(of: contents[2]))
        chmod(path, 0o600)
        truncate(path, 99_999)
        found = try await examineAll(store)
        #expect((found.checked, found.bytes, found.damaged) == (5, 400_000, 1))
        #expect(await store.usage().damagedBodies == 1)
        found = try await examineAll(store)
        #expect((found.checked, found.damaged) == (4, 0))
        await store.close()
    }

    private func key(_ target: String) -> EntryKey { EntryKey(partition: .none, target: Target(unchecked: target)) }

    /// Turns a letter of a body that lies in rows of the table into another one.
    private func damage(_ table: String, _ body: String) throws {
        let connection = try Connection(path: folder.path + "/holdfast.sqlite")
        try connection.execute(
            """
            UPDATE \(table) SET record = CAST(replace(CAST(record AS TEXT), '\(body)', '\(body.uppercased())') AS BLOB)
            """)
    }

    @Test func `Bodies in rows are compared too, and a copy that is damaged is given up`() async throws {
        let store = try folder.open()
        for number in 0..<250 {
            let copy = sampleCopy(try await store.makeContent(Array("copy \(number).".utf8), for: .copy))
            try await store.commit([.putCopy(key("/\(number)"), copy)], durable: true)
        }
        try await store.commit([.setPin(key("/7"), .high)], durable: true)
        let body = try await store.makeContent(Array("write.".utf8), for: .operation)
        try await store.commit([.putOperation(sampleOperation(1, body))], durable: true)
        #expect(try await store.bodyCount() == 251)
        var found = try await examineAll(store)
        #expect((found.checked, found.damaged) == (251, 0))
        try damage("entries", "copy 7.")
        try damage("entries", "copy 211.")
        try damage("operations", "write.")
        found = try await examineAll(store)
        #expect(found.checked == 251)
        #expect(found.damaged >= 3)
        #expect(try await store.entry(key("/7")) == Entry(key: key("/7"), pin: .high))
        #expect(try await store.entry(key("/211")) == nil)
        #expect(try await store.entry(key("/8"))?.copies.count == 1)
        #expect(try await store.loadQueue().operations.count == 1)
        await store.close()
    }

    @Test(arguments: ["", "files", "files 256", "files -1", "tables 3", "entries x"])
    func `A look that begins nowhere begins at the beginning`(place: String) async throws {
        let store = try folder.open()
        #expect(try await store.examine(after: place) == (try await store.examine(after: nil)))
        await store.close()
    }
}
