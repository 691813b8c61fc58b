package import CacheCore

/// The works that need the domain's ports alone.
package enum ActionWorks {
    /// `originBase`: the origin's URL. `pinned` is told of entries that a prefetch has pinned.
    package static func all(
        store: any Store, network: any Network, credentials: CredentialKeeper, sources: CredentialSources,
        settings: SettingsBox, originBase: String, entries: any EntryRefreshing,
        stores: any StoreKeeping & StoreExamining, clock: any Clock, log: any Log,
        pinned: @escaping @Sendable (Entry) -> Void
    ) -> [ActionType: any ActionWork] {
        let fetches = ActionFetches(
            store: store,
            fetcher: EntryFetcher(
                network: network, keys: RefreshKeys(credentials: credentials, sources: sources), entries: entries,
                log: log), clock: clock, pinned: pinned)
        return [
            .refresh: RefreshWork(store: store, fetches: fetches),
            .prefetch: PrefetchWork(store: store, settings: settings, originBase: originBase, fetches: fetches),
            .verify: VerifyWork(stores: stores), .reconcile: ReconcileWork(stores: stores),
            .save: SaveWork(stores: stores),
        ]
    }
}
