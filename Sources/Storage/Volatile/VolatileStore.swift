package import CacheCore
import HTTPModel
import Synchronization

/// A store whose copies, policies and pins are in memory alone and gone when it is closed (design 11, type memory). What must
/// not be lost, the queue and its records, is in a store on disk. Callable from any task.
package final class VolatileStore: Store {
    private let journal: SQLiteStore
    private let copies: Mutex<VolatileCopies>
    private let limit: Int64
    private let view: (any HitView)?

    /// `journal` has the queue, and goes with this store. `limit`: what the copies may take, in bytes.
    package init(journal: SQLiteStore, limit: Int64, view: (any HitView)?) {
        self.journal = journal
        self.limit = limit
        self.view = view
        copies = Mutex(VolatileCopies(limit: limit))
    }

    package var epoch: Int64 { journal.epoch }
    package var partitionKey: [UInt8] { journal.partitionKey }

    // MARK: Commits

    package func commit(_ changes: [StoreChange], durable: Bool) async throws(StoreError) {
        var own: [StoreChange] = []
        for change in changes { own.append(try await withBodyInMemory(change)) }
        let records = changes.filter { !$0.isOfEntry }
        if !records.isEmpty { try await journal.commit(records, durable: durable) }
        let memory = journal.shared.memory
        let policies = journal.shared.options.policies()
        let (touched, fits) = copies.withLock { copies in
            let touched = copies.apply(own, isBusy: memory.isBusy)
            let room = copies.makeRoom(
                for: 0, isBusy: { touched.contains($0) || memory.isBusy($0) }, under: policies, view: view)
            // What can't stay is not kept at all: a copy can be had again.
            if !room.fits {
                for case .putCopy(let key, _) in own { _ = copies.apply([.removeEntry(key)], isBusy: memory.isBusy) }
            }
            return (touched.union(room.gone), room.fits)
        }
        for key in touched { view?.invalidate(key) }
        if !fits, records.isEmpty { throw .full }
    }

    /// A copy's body that was put on disk before it was known what it is for is taken into memory.
    private func withBodyInMemory(_ change: StoreChange) async throws(StoreError) -> StoreChange {
        guard case .putCopy(let key, var copy) = change, copy.content.inline == nil else { return change }
        let content = copy.content
        copy.content = Content(
            digest: content.digest, length: content.length, inline: try await journal.bytes(of: content, limit: limit))
        return .putCopy(key, copy)
    }

    // MARK: Entries

    package func entry(_ key: EntryKey) async throws(StoreError) -> Entry? { copies.withLock { $0.find(key) } }

    package func isAbsent(_ key: EntryKey) -> Bool { copies.withLock { $0.find(key) } == nil }

    package func entries(_ filter: EntryFilter, after: String?, limit: Int) async throws(StoreError) -> Page<Entry> {
        func name(_ key: EntryKey) -> String { key.partition.text + " " + key.target.text }
        let found = copies.withLock { Array($0.entries.values) }.filter { entry in
            (filter.partitions?.contains(entry.key.partition) ?? true)
                && entry.key.target.text.utf8.starts(with: (filter.prefix ?? "").utf8)
                && (after.map { $0.utf8.lexicographicallyPrecedes(name(entry.key).utf8) } ?? true)
        }.sorted { name($0.key).utf8.lexicographicallyPrecedes(name($1.key).utf8) }
        let items = Array(found.prefix(limit))
        return Page(items: items, next: found.count > limit ? items.last.map { name($0.key) } : nil)
    }

    package func partitions() async throws(StoreError) -> [(id: PartitionID, entries: Int64)] {
        let counts = copies.withLock { copies in
            copies.entries.keys.reduce(into: [:] as [PartitionID: Int64]) { $0[$1.partition, default: 0] += 1 }
        }
        return counts.sorted { $0.key.text < $1.key.text }.map { ($0.key, $0.value) }
    }

    // MARK: The queue

    package func loadQueue() async throws(StoreError) -> QueueImage { try await journal.loadQueue() }
    package func operation(_ id: OperationID) async throws(StoreError) -> Operation? { try await journal.operation(id) }
    package func operation(partition: PartitionID, key: String) async throws(StoreError) -> Operation? {
        try await journal.operation(partition: partition, key: key)
    }
    package func operations(
        partitions: [PartitionID]?, states: [OperationState]?, after: String?, limit: Int
    ) async throws(StoreError) -> Page<Operation> {
        try await journal.operations(partitions: partitions, states: states, after: after, limit: limit)
    }
    package func conflict(_ id: String) async throws(StoreError) -> Conflict? { try await journal.conflict(id) }
    package func conflicts(
        partitions: [PartitionID]?, open: Bool, after: String?, limit: Int
    ) async throws(StoreError) -> Page<Conflict> {
        try await journal.conflicts(partitions: partitions, open: open, after: after, limit: limit)
    }
    package func keyRecord(partition: PartitionID, key: String) async throws(StoreError) -> KeyRecord? {
        try await journal.keyRecord(partition: partition, key: key)
    }

    // MARK: Bodies

    package func makeBody(for purpose: ContentPurpose, length: Int64?) async throws(StoreError) -> any BodyWriter {
        guard purpose == .copy else { return try await journal.makeBody(for: purpose, length: length) }
        try makeRoom(for: length ?? 0)
        return VolatileBodyWriter { [self] (length) throws(StoreError) in try makeRoom(for: length) }
    }

    private func makeRoom(for bytes: Int64) throws(StoreError) {
        guard bytes <= limit else { throw .tooLarge }
        let memory = journal.shared.memory
        let policies = journal.shared.options.policies()
        let room = copies.withLock { $0.makeRoom(for: bytes, isBusy: memory.isBusy, under: policies, view: view) }
        for key in room.gone { view?.invalidate(key) }
        if !room.fits { throw .full }
    }

    package func holds(_ content: Content) -> Bool { journal.holds(content) }
    package func read(_ content: Content, range: Range<Int64>?) async throws(StoreError) -> any BodySource {
        try await journal.read(content, range: range)
    }
    package func file(of content: Content) async throws(StoreError) -> String? {
        content.inline == nil ? try await journal.file(of: content) : nil
    }

    // Only what is on disk can be damaged.
    package func bodyCount() async throws(StoreError) -> Int64 { try await journal.bodyCount() }
    package func examine(after place: String?) async throws(StoreError) -> BodyExamination {
        try await journal.examine(after: place)
    }

    package func usage() async -> StoreUsage {
        var usage = await journal.usage()
        (usage.copies, usage.entries) = copies.withLock { ($0.size, Int64($0.entries.count)) }
        usage.limit = limit
        return usage
    }

    package func select(_ query: MemberQuery) async throws(StoreError) -> any MemberSelection {
        try await journal.select(query)
    }

    package func save() async throws(StoreError) { try await journal.save() }
    /// There is nothing that was saved: a cache that begins anew is empty, and so is one that is off.
    package func setMode(_ mode: CacheMode) async throws(StoreError) {
        try await journal.setMode(mode)
        if mode == .initialized || mode == .no { copies.withLock { $0 = VolatileCopies(limit: limit) } }
    }
    package func close() async { await journal.close() }
}

/// Gathers a copy's body in memory.
private final class VolatileBodyWriter: BodyWriter {
    private let gathered = Mutex<[UInt8]>([])
    private let check: @Sendable (Int64) throws(StoreError) -> Void

    /// `check` throws where the body may not grow to a length.
    init(check: @escaping @Sendable (Int64) throws(StoreError) -> Void) { self.check = check }

    func append(_ piece: [UInt8]) async throws(StoreError) {
        try check(gathered.withLock { Int64($0.count) } + Int64(piece.count))
        gathered.withLock { $0 += piece }
    }

    func finish() async throws(StoreError) -> Content {
        let bytes = gathered.withLock { $0 }
        return Content(digest: SHA256.digest(of: bytes), length: Int64(bytes.count), inline: bytes)
    }

    func written(_ range: Range<Int64>) async throws(StoreError) -> [UInt8] {
        let bytes = gathered.withLock { Array($0.dropFirst(Int(range.lowerBound)).prefix(range.count)) }
        guard bytes.count == range.count else { throw .failed(reason: "the body was given up") }
        return bytes
    }

    func discard() { gathered.withLock { $0 = [] } }
}

extension StoreChange {
    /// Whether it is about entries alone.
    fileprivate var isOfEntry: Bool {
        switch self {
        case .putCopy, .putListed, .putParts, .removeParts, .dropMembers, .expire, .expirePath, .removeEntry, .evict,
            .setPolicy, .setPin:
            true
        case .putOperation, .putConflict, .putKeyRecord, .removeKeyRecord, .putAlias, .movePartition: false
        }
    }
}
