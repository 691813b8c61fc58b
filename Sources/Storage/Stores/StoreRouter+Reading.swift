package import CacheCore
import HTTPModel
import Synchronization

extension StoreRouter {
    // MARK: Starts

    // A copy says in which start of its store it was stored. Above, starts are counted by the default store's number: what another
    // store got in its present start has the present number, all else an earlier one.

    func adapted(_ changes: [StoreChange], to store: any Store) -> [StoreChange] {
        guard store.epoch != epoch else { return changes }
        return changes.map { change in
            switch change {
            case .putCopy(let key, let copy): .putCopy(key, adapted(copy, to: store))
            case .putListed(let key, let copy): .putListed(key, adapted(copy, to: store))
            case .putParts(let key, let parts): .putParts(key, adapted(parts, to: store))
            default: change
            }
        }
    }

    func adapted(_ entry: Entry, to store: any Store) -> Entry {
        var entry = entry
        for index in entry.copies.indices { entry.copies[index] = adapted(entry.copies[index], to: store) }
        return entry
    }

    private func adapted(_ copy: ServerCopy, to store: any Store) -> ServerCopy {
        var copy = copy
        copy.epoch = copy.epoch == epoch ? store.epoch : store.epoch - 1
        return copy
    }

    private func adapted(_ parts: PartialCopy, to store: any Store) -> PartialCopy {
        var parts = parts
        parts.head = adapted(parts.head, to: store)
        return parts
    }

    private func adapted(_ entry: Entry, from store: any Store) -> Entry {
        guard store.epoch != epoch else { return entry }
        var entry = entry
        for index in entry.copies.indices {
            entry.copies[index].epoch = entry.copies[index].epoch == store.epoch ? epoch : epoch - 1
        }
        for index in entry.parts.indices {
            entry.parts[index].head.epoch = entry.parts[index].head.epoch == store.epoch ? epoch : epoch - 1
        }
        return entry
    }

    // MARK: Entries

    package func entry(_ key: EntryKey) async throws(StoreError) -> Entry? {
        guard let seat = seat(of: key.target), seat.keepsCopies, let entry = try await seat.store.entry(key) else {
            return nil
        }
        return adapted(entry, from: seat.store)
    }

    package func isAbsent(_ key: EntryKey) -> Bool {
        guard let seat = seat(of: key.target), seat.keepsCopies else { return true }
        return seat.store.isAbsent(key)
    }

    package func entries(_ filter: EntryFilter, after: String?, limit: Int) async throws(StoreError) -> Page<Entry> {
        let caching = seats.filter(\.keepsCopies)
        let page = try await merged(caching, limit: limit, name: { $0.key.partition.text + " " + $0.key.target.text }) {
            (store) throws(StoreError) in
            let page = try await store.entries(filter, after: after, limit: limit)
            return Page(items: page.items.map { adapted($0, from: store) }, next: page.next)
        }
        // What lies in a store that no longer has the target is not seen through it.
        let visible = page.items.filter { item in
            table.withLock { $0.index(of: item.value.key.target) == item.index }
        }
        return Page(items: visible.map(\.value), next: page.next)
    }

    package func partitions() async throws(StoreError) -> [(id: PartitionID, entries: Int64)] {
        var counts: [PartitionID: Int64] = [:]
        for seat in seats where seat.keepsCopies {
            for partition in try await seat.store.partitions() { counts[partition.id, default: 0] += partition.entries }
        }
        return counts.sorted { $0.key.text < $1.key.text }.map { ($0.key, $0.value) }
    }

    // MARK: The queue

    package func loadQueue() async throws(StoreError) -> QueueImage {
        var sum = QueueImage.empty
        for seat in seats {
            let image = try await seat.store.loadQueue()
            sum.operations += image.operations
            sum.conflicts += image.conflicts
            sum.aliases += image.aliases
            sum.lastSequence = max(sum.lastSequence, image.lastSequence)
        }
        sum.operations.sort { $0.precedes($1) }
        return sum
    }

    package func operation(_ id: OperationID) async throws(StoreError) -> Operation? {
        try await first { (store) throws(StoreError) in try await store.operation(id) }
    }

    package func operation(partition: PartitionID, key: String) async throws(StoreError) -> Operation? {
        var newest: Operation?
        for seat in seats {
            guard let found = try await seat.store.operation(partition: partition, key: key) else { continue }
            if found.sequence > newest?.sequence ?? .min { newest = found }
        }
        return newest
    }

    package func operations(
        partitions: [PartitionID]?, states: [OperationState]?, after: String?, limit: Int
    ) async throws(StoreError) -> Page<Operation> {
        let page = try await merged(seats, limit: limit, name: { $0.id.text }) { (store) throws(StoreError) in
            try await store.operations(partitions: partitions, states: states, after: after, limit: limit)
        }
        return Page(items: page.items.map(\.value), next: page.next)
    }

    package func conflict(_ id: String) async throws(StoreError) -> Conflict? {
        try await first { (store) throws(StoreError) in try await store.conflict(id) }
    }

    package func conflicts(
        partitions: [PartitionID]?, open: Bool, after: String?, limit: Int
    ) async throws(StoreError) -> Page<Conflict> {
        let page = try await merged(seats, limit: limit, name: { $0.id }) { (store) throws(StoreError) in
            try await store.conflicts(partitions: partitions, open: open, after: after, limit: limit)
        }
        return Page(items: page.items.map(\.value), next: page.next)
    }

    package func keyRecord(partition: PartitionID, key: String) async throws(StoreError) -> KeyRecord? {
        var newest: KeyRecord?
        for seat in seats {
            guard let found = try await seat.store.keyRecord(partition: partition, key: key) else { continue }
            if found.at > newest?.at ?? -.infinity { newest = found }
        }
        return newest
    }

    // MARK: Joining

    private func first<Value>(
        _ find: (any Store) async throws(StoreError) -> Value?
    ) async throws(StoreError) -> Value? {
        for seat in seats {
            if let found = try await find(seat.store) { return found }
        }
        return nil
    }

    /// An item with the place of its store.
    private struct Found<Item: Sendable>: Sendable {
        var index: Int
        var name: String
        var value: Item
    }

    /// One page of the pages of the stores, in order of the bytes of their names.
    private func merged<Item: Sendable>(
        _ seats: [Seat], limit: Int, name: (Item) -> String, _ page: (any Store) async throws(StoreError) -> Page<Item>
    ) async throws(StoreError) -> Page<Found<Item>> {
        var items: [Found<Item>] = []
        var hasMore = false
        for seat in seats {
            let page = try await page(seat.store)
            items += page.items.map { Found(index: seat.index, name: name($0), value: $0) }
            hasMore = hasMore || page.next != nil
        }
        items.sort { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
        hasMore = hasMore || items.count > limit
        let kept = Array(items.prefix(limit))
        return Page(items: kept, next: hasMore ? kept.last?.name : nil)
    }
}
