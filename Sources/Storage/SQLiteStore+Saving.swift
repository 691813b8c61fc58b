package import CacheCore

/// Cache modes.
extension SQLiteStore {
    package func setMode(_ mode: CacheMode) async throws(StoreError) {
        await behind.flush()
        let former = shared.mode
        guard former != mode || mode == .initialized else { return }
        do {
            try await write(
                .other { [shared] transaction in
                    switch mode {
                    case .automatic: try transaction.saveEntries()
                    case .initialized: try transaction.setEntriesAside()
                    case .manualSaving, .no: break
                    }
                    // On the writer's thread: the next job already works in the new mode.
                    shared.mode = mode
                }, durable: true)
        } catch {
            shared.mode = former
            throw error
        }
        shared.view?.invalidateAll()
    }

    package func save(for reason: SaveReason) async throws(StoreError) -> Bool {
        switch shared.mode {
        case .automatic: try await save()
        case .manualSaving where reason == .demand:
            await behind.flush()
            try await write(.other { try $0.saveEntries() }, durable: true)
        case .manualSaving, .initialized, .no: return false
        }
        return true
    }
}
