import CacheCore

/// Fetches entries for an action, and takes note of each.
struct ActionFetches: Sendable {
    let store: any Store
    let fetcher: EntryFetcher
    let clock: any Clock
    let pinned: @Sendable (Entry) -> Void

    /// Fetches those that need it, and pins all where a priority is given; false where it had to stop before the end.
    func bring(
        _ keys: [EntryKey], _ turn: ActionTurn, pin: PinPriority? = nil,
        if isNeeded: @escaping @Sendable (Entry?) -> Bool
    ) async -> Bool {
        await fetcher.forEach(keys) { key in
            let isBrought = isNeeded(try? await store.entry(key)) ? await bring(key, turn) : true
            // What is stopped on the way is done again; what the origin refuses may be pinned for another time.
            guard isBrought || fetcher.mayGoOn else { return }
            if let pin { await self.pin(key, pin, turn) }
            await turn.note { progress in
                progress.done += 1
                if !isBrought { progress.failed += 1 }
            }
        }
    }

    /// False where it brought nothing that is kept.
    private func bring(_ key: EntryKey, _ turn: ActionTurn) async -> Bool {
        let begunAt = clock.now
        await fetcher.fetch(key)
        guard let entry = try? await store.entry(key), entry.isSynced(since: begunAt) else { return false }
        let length = entry.copies.first?.content.length ?? 0
        await turn.note { progress in
            progress.fetched += 1
            progress.bytes += length
        }
        return true
    }

    private func pin(_ key: EntryKey, _ priority: PinPriority, _ turn: ActionTurn) async {
        guard (try? await store.entry(key))?.pin != priority else { return }
        do throws(StoreError) {
            try await store.commit([.setPin(key, priority)], durable: true)
            if let entry = try await store.entry(key) { pinned(entry) }
        } catch {
            return await turn.note { $0.failed += 1 }
        }
        await turn.note { $0.pinned += 1 }
    }
}

extension Entry {
    /// Whether the origin gave or confirmed a copy of its own, not a list, at or after that time (seconds since 1970).
    func isSynced(since time: Double) -> Bool { copies.contains { !$0.isListed && $0.responseTime >= time } }
}
