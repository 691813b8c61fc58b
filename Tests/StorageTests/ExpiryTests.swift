import CacheCore
import HTTPModel
import Testing

@testable import Storage

/// Members of one list are delivered together, and each expires all that is stored under the list's path.
@Suite struct `Expiring a path` {
    private let folder = TemporaryFolder()
    private let copy = sampleCopy(.empty)

    private func key(_ name: String) -> EntryKey {
        EntryKey(partition: .none, target: Target(unchecked: name))
    }

    private func isExpired(_ name: String, in store: SQLiteStore) async throws -> Bool? {
        try await store.entry(key(name))?.copies.first?.isExpired
    }

    @Test func `What is stored under it is looked at once, however many members a transaction writes`() async throws {
        let store = try folder.open()
        let page = key("/list?page=2")
        try await store.commit([.putCopy(page, copy)], durable: true)
        let fresh = try #require(try await store.entry(page)).record
        try await store.write(
            .other { [copy] transaction in
                try transaction.apply([.expirePath(.none, path: "/list")])
                // Unknown to the transaction: were the page looked at again, it would be expired again.
                try transaction.connection.run(
                    "UPDATE entries SET record = ? WHERE target = ?", .blob(fresh), .text(page.target.text))
                for number in 1...3 {
                    let member = EntryKey(partition: .none, target: Target(unchecked: "/list/\(number)"))
                    try transaction.apply([.putCopy(member, copy), .expirePath(.none, path: "/list")])
                }
            }, durable: true)
        #expect(try await isExpired("/list?page=2", in: store) == false)
        await store.close()
    }

    @Test(arguments: ["/list", "/list?page=3"])
    func `What is stored under it after that is expired by the next`(name: String) async throws {
        let store = try folder.open()
        let expire = StoreChange.expirePath(.none, path: "/list")
        try await store.commit([.putCopy(key(name), copy), expire, .putCopy(key(name), copy), expire], durable: true)
        #expect(try await isExpired(name, in: store) == true)
        await store.close()
    }

    @Test func `Paths are told apart by their bytes`() async throws {
        let store = try folder.open()
        let names = ["/caf\u{E9}", "/cafe\u{301}"]
        try await store.commit(names.map { .putCopy(key($0), copy) }, durable: true)
        try await store.commit(names.map { .expirePath(.none, path: $0) }, durable: true)
        for name in names { #expect(try await isExpired(name, in: store) == true) }
        await store.close()
    }
}
