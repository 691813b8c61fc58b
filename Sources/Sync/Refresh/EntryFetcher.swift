import CacheCore

/// Asks the origin for many entries on nobody's behalf, a few at once, so that clients find it idle enough.
struct EntryFetcher: Sendable {
    let network: any Network
    let keys: RefreshKeys
    let entries: any EntryRefreshing
    let log: any Log

    private static let atOnce = 4

    /// Whether there is reason to go on: the origin can be reached, and nobody has ended the task.
    var mayGoOn: Bool { network.state.isOnline && !Task.isCancelled }

    /// Fetches all; false where it had to stop before the end.
    func fetch(_ keys: [EntryKey]) async -> Bool { await forEach(keys) { _ = await fetch($0) } }

    /// Hands each key to `body`, as many at once as the origin may be asked for; false where it had to stop before the end.
    func forEach(_ keys: [EntryKey], _ body: @escaping @Sendable (EntryKey) async -> Void) async -> Bool {
        await withTaskGroup(of: Void.self) { group in
            for (count, key) in keys.enumerated() {
                if count >= Self.atOnce { await group.next() }
                guard mayGoOn else { break }
                group.addTask { await body(key) }
            }
        }
        return mayGoOn
    }

    /// Fetches one, with a credential of its partition; what comes of it is in the store. False where no credential is known.
    func fetch(_ key: EntryKey) async -> Bool {
        guard let credentials = await keys.fields(for: key.partition) else { return false }
        do throws(OriginError) {
            try await entries.refresh(key, credentials: credentials)
        } catch {
            log.write(.info, "an entry could not be refreshed", [("reason", "\(error)")])
        }
        return true
    }
}
