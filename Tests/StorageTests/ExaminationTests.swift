import CacheCore
import Glibc
import Storage
import TestSupport
import Testing

@Suite struct `Examining a store's bodies` {
    private let folder = TemporaryFolder()

    private func examineAll(_ store: SQLiteStore) async throws -> BodyExamination {
        var sum = BodyExamination()
        for part in 0..<StorePart.count {
            let found = try await store.examine(part: part)
            sum.checked += found.checked
            sum.bytes += found.bytes
            sum.damaged += found.damaged
        }
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
}
