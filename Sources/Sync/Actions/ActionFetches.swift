import CacheCore

/// Fetches entries for an action, and takes note of each.
struct ActionFetches: Sendable {
    let store: any Store
    let fetcher: EntryFetcher
    let clock: any Clock
    let pinned: @Sendable (Entry) -> Void

    /// A pin for entries that are brought; `source`: what led to them.
    struct Pinning: Sendable {
        var priority: PinPriority
        var source: Target?
    }

    private enum Outcome {
        case brought
        /// The origin gave nothing that is kept.
        case failed
        /// Nobody knows a credential of its identity.
        case withoutCredential
    }

    /// Fetches those that need it, and pins all where a pin is given; false where it had to stop before the end.
    func bring(
        _ keys: [EntryKey], _ turn: ActionTurn, pin: Pinning? = nil,
        if isNeeded: @escaping @Sendable (Entry?) -> Bool
    ) async -> Bool {
        await fetcher.forEach(keys) { key in
            let outcome = isNeeded(try? await store.entry(key)) ? await bring(key, turn) : .brought
            // What is stopped on the way is done again; what the origin refuses may be pinned for another time.
            guard outcome == .brought || fetcher.mayGoOn else { return }
            if let pin { await self.pin(key, pin, turn) }
            await turn.note { progress in
                progress.done += 1
                if outcome == .failed { progress.failed += 1 }
                if outcome == .withoutCredential { progress.withoutCredential += 1 }
            }
        }
    }

    private func bring(_ key: EntryKey, _ turn: ActionTurn) async -> Outcome {
        let begunAt = clock.now
        guard await fetcher.fetch(key) else { return .withoutCredential }
        guard let entry = try? await store.entry(key), entry.isSynced(since: begunAt) else { return .failed }
        let length = entry.copies.first?.content.length ?? 0
        await turn.note { progress in
            progress.fetched += 1
            progress.bytes += length
        }
        return .brought
    }

    private func pin(_ key: EntryKey, _ pin: Pinning, _ turn: ActionTurn) async {
        guard (try? await store.entry(key))?.pins[pin.source] != pin.priority else { return }
        do throws(StoreError) {
            try await setPin(key, pin.priority, for: pin.source)
        } catch {
            return await turn.note { $0.failed += 1 }
        }
        await turn.note { $0.pinned += 1 }
    }

    private func setPin(_ key: EntryKey, _ priority: PinPriority?, for source: Target?) async throws(StoreError) {
        try await store.commit([.setPin(key, priority, for: source)], durable: true)
        if let entry = try await store.entry(key) { pinned(entry) }
    }

    /// Takes the pins that are for the source from the entries of its partition that it no longer leads to; false where it had to stop.
    func unpin(allBut kept: Set<EntryKey>, for source: EntryKey) async throws(StoreError) -> Bool {
        var after: String?
        repeat {
            guard !Task.isCancelled else { return false }
            let page = try await store.entries(EntryFilter(partitions: [source.partition]), after: after, limit: 200)
            for entry in page.items where entry.pins[source.target] != nil && !kept.contains(entry.key) {
                try await setPin(entry.key, nil, for: source.target)
            }
            after = page.next
        } while after != nil
        return true
    }
}

extension Entry {
    /// Whether the origin gave or confirmed a copy of its own, not a list, at or after that time (seconds since 1970).
    func isSynced(since time: Double) -> Bool { copies.contains { !$0.isListed && $0.responseTime >= time } }
}
