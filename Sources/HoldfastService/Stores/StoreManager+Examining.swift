import CacheCore
import Storage

extension StoreManager: StoreExamining {
    func hasBothSides(_ store: String) throws -> Bool { (try attached(store) as? MirroredStore)?.hasBothSides ?? false }

    func bodyCount(of store: String) async throws -> Int64 { try await attached(store).bodyCount() }

    func examine(_ store: String, after place: String?) async throws -> BodyExamination {
        try await attached(store).examine(after: place)
    }

    private func attached(_ name: String) throws -> any Store {
        guard let store = router.store(named: name) else {
            throw Problem(.notFound, "No store of this name is attached.")
        }
        return store
    }
}
