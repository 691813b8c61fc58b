import CacheCore

/// Saves the cached copies, as POST /cache/save does. Where the mode saves nothing there is nothing to do.
struct SaveWork: ActionWork {
    let stores: any StoreKeeping

    func run(_ turn: ActionTurn) async throws -> Bool {
        let isSaved = try await stores.save(for: .demand)
        await turn.note { progress in
            progress.total = isSaved ? 1 : 0
            progress.done = isSaved ? 1 : 0
        }
        return true
    }
}
