package import CacheCore

/// The works that need the domain's ports alone.
package enum ActionWorks {
    package static func all(
        store: any Store, network: any Network, credentials: CredentialKeeper, sources: CredentialSources,
        entries: any EntryRefreshing, stores: any StoreKeeping, clock: any Clock, log: any Log
    ) -> [ActionType: any ActionWork] {
        let fetches = ActionFetches(
            store: store,
            fetcher: EntryFetcher(
                network: network, keys: RefreshKeys(credentials: credentials, sources: sources), entries: entries,
                log: log), clock: clock)
        return [.refresh: RefreshWork(store: store, fetches: fetches), .save: SaveWork(stores: stores)]
    }
}
