import Storage
import TestSupport
import Testing

@Suite struct `Store contract` {
    @Test(arguments: StoreContract.rules)
    func `A store in a folder keeps the rule`(rule: StoreRule) async throws {
        let folder = TemporaryFolder()
        let store = try folder.open()
        try await rule.check(store)
        await store.close()
    }

    @Test(arguments: StoreContract.rules)
    func `A store whose copies are in memory keeps the rule`(rule: StoreRule) async throws {
        let folder = TemporaryFolder()
        let store = VolatileStore(journal: try folder.open(), limit: 1 << 30, view: nil)
        try await rule.check(store)
        await store.close()
    }

    @Test(arguments: StoreContract.rules)
    func `A store in memory keeps the rule`(rule: StoreRule) async throws {
        try await rule.check(MemoryStore())
    }
}
