import Synchronization

/// Takes entries in, all or none: nothing shows before `commit`. One caller at a time.
package protocol EntryIntake: AnyObject, Sendable {
    /// Sets the entry aside. Its bodies were made by the same store for its target.
    func add(_ entry: Entry) async throws(StoreError)
    /// Puts all in place in one transaction. What has an edit, an operation or an open conflict stays as it is; copies of the
    /// others are replaced; a policy or pins that an entry does not bring stay.
    func commit() async throws(StoreError)
    /// Gives up; nothing stays.
    func discard() async
}

/// For stores that hold all entries in memory anyway.
final class GatheredIntake: EntryIntake {
    private let store: any Store
    private let gathered = Mutex<[Entry]>([])

    init(_ store: any Store) { self.store = store }

    func add(_ entry: Entry) async throws(StoreError) { gathered.withLock { $0.append(entry) } }

    func commit() async throws(StoreError) {
        let image = try await store.loadQueue()
        let busy = Set(image.operations.flatMap(\.entryKeys) + image.conflicts.map(\.key))
        var changes: [StoreChange] = []
        for entry in gathered.withLock({ $0 }) where !busy.contains(entry.key) {
            let entry = entry.replacing(try await store.entry(entry.key))
            changes.append(.removeEntry(entry.key))
            changes += entry.copies.reversed().map { .putCopy(entry.key, $0) }
            if !entry.policy.isEmpty { changes.append(.setPolicy(entry.key, entry.policy)) }
            if let own = entry.pins.own { changes.append(.setPin(entry.key, own)) }
            changes += entry.pins.ancillary.map { .setPin(entry.key, $0.value, for: $0.key) }
        }
        try await store.commit(changes, durable: true)
    }

    func discard() async { gathered.withLock { $0 = [] } }
}

extension Operation {
    /// The entries whose answers depend on it.
    package var entryKeys: Set<EntryKey> { [lane, EntryKey(partition: partition, target: target)] }
}

extension Entry {
    /// With the policy and pin of the former one where it has none.
    package func replacing(_ former: Entry?) -> Entry {
        var entry = self
        if entry.policy.isEmpty { entry.policy = former?.policy ?? entry.policy }
        entry.pins = entry.pins.joined(with: former?.pins ?? Pins())
        return entry
    }
}
