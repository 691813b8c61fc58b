import CacheCore

/// Fetches entries for an action, and takes note of each.
struct ActionFetches: Sendable {
    let store: any Store
    let fetcher: EntryFetcher
    let clock: any Clock

    /// Fetches those that need it; false where it had to stop before the end.
    func bring(
        _ keys: [EntryKey], _ turn: ActionTurn, if isNeeded: @escaping @Sendable (Entry?) -> Bool
    ) async -> Bool {
        await fetcher.forEach(keys) { key in
            guard isNeeded(try? await store.entry(key)) else { return await turn.note { $0.done += 1 } }
            let begunAt = clock.now
            await fetcher.fetch(key)
            let entry = try? await store.entry(key)
            if let entry, let lastSync = entry.lastSync, lastSync >= begunAt {
                let length = entry.copies.first?.content.length ?? 0
                await turn.note { progress in
                    progress.done += 1
                    progress.fetched += 1
                    progress.bytes += length
                }
            } else if fetcher.mayGoOn {
                await turn.note { progress in
                    progress.done += 1
                    progress.failed += 1
                }
            }
        }
    }
}
