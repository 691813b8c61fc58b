package import CacheCore
import HTTPModel
import Synchronization

/// A store in memory for tests: one lock, everything synchronous inside. Bodies are always inline. Their digests are no
/// SHA-256 but tell bytes apart, which is all that a test needs.
package final class MemoryStore: Store {
    struct State {
        var entries: [EntryKey: Entry] = [:]
        var operations: [OperationID: Operation] = [:]
        var conflicts: [String: Conflict] = [:]
        var records: [RecordKey: KeyRecord] = [:]
        var aliases: [EntryKey: TargetAlias] = [:]
        var bodies: [Digest: [UInt8]] = [:]
        var failure: StoreError?
        var lack = StoreError.failed(reason: "no such body")
        var afterLookUp: (@Sendable () async -> Void)?
        var commits: [(changes: [StoreChange], durable: Bool)] = []
        var operationPages = 0
    }
    struct RecordKey: Hashable {
        var partition: PartitionID
        var key: String
    }

    package let epoch: Int64
    package let partitionKey: [UInt8]
    private let state = Mutex(State())
    private let limit: Int64
    private let view: (any HitView)?

    /// `limit`: what all bodies together may hold, in bytes.
    package init(epoch: Int64 = 1, limit: Int64 = 1 << 30, view: (any HitView)? = nil) {
        self.epoch = epoch
        self.limit = limit
        self.view = view
        partitionKey = (0..<32).map { UInt8($0) }
    }

    package let expiries = ExpiryLog()

    /// While set, every commit and every new body fails with it.
    package var failure: StoreError? {
        get { state.withLock { $0.failure } }
        set { state.withLock { $0.failure = newValue } }
    }

    /// What the read of a body that it has not fails with.
    package var lack: StoreError {
        get { state.withLock { $0.lack } }
        set { state.withLock { $0.lack = newValue } }
    }

    /// Runs between the look-up of an entry and its return.
    package var afterLookUp: (@Sendable () async -> Void)? {
        get { state.withLock { $0.afterLookUp } }
        set { state.withLock { $0.afterLookUp = newValue } }
    }

    /// How many pages of operations were read.
    package var operationPages: Int { state.withLock { $0.operationPages } }

    /// What was committed, in order.
    package var commits: [(changes: [StoreChange], durable: Bool)] { state.withLock { $0.commits } }

    package func commit(_ changes: [StoreChange], durable: Bool) async throws(StoreError) {
        expiries.note(changes)
        let outcome: Result<Set<EntryKey>, StoreError> = state.withLock { state in
            if let failure = state.failure { return .failure(failure) }
            var touched: Set<EntryKey> = []
            for change in changes { state.apply(change, touched: &touched) }
            state.commits.append((changes, durable))
            return .success(touched)
        }
        for key in try outcome.get() { view?.invalidate(key) }
    }

    package func entry(_ key: EntryKey) async throws(StoreError) -> Entry? {
        let (entry, pause) = state.withLock { ($0.entries[key], $0.afterLookUp) }
        await pause?()
        return entry
    }

    package func entries(_ filter: EntryFilter, after: String?, limit: Int) async throws(StoreError) -> Page<Entry> {
        let all = state.withLock { Array($0.entries.values) }.filter { entry in
            (filter.partitions?.contains(entry.key.partition) ?? true)
                && (filter.prefix.map { Array(entry.key.target.text.utf8).starts(with: $0.utf8) } ?? true)
        }
        return page(all, after: after, limit: limit) { $0.key.partition.text + " " + $0.key.target.text }
    }

    package func partitions() async throws(StoreError) -> [(id: PartitionID, entries: Int64)] {
        let counts = state.withLock { state in
            state.entries.keys.reduce(into: [:] as [PartitionID: Int64]) { $0[$1.partition, default: 0] += 1 }
        }
        return counts.sorted { $0.key.text < $1.key.text }.map { ($0.key, $0.value) }
    }

    package func loadQueue() async throws(StoreError) -> QueueImage {
        state.withLock { state in
            QueueImage(
                operations: state.operations.values.filter { !$0.state.isFinal }.sorted { $0.sequence < $1.sequence },
                conflicts: state.conflicts.values.filter { $0.closedAt == nil }.sorted { $0.id < $1.id },
                aliases: state.aliases.values.sorted { $0.temporary.text < $1.temporary.text },
                lastSequence: state.operations.values.map(\.sequence).max() ?? 0)
        }
    }

    package func operation(_ id: OperationID) async throws(StoreError) -> Operation? {
        state.withLock { $0.operations[id] }
    }

    package func operation(partition: PartitionID, key: String) async throws(StoreError) -> Operation? {
        state.withLock { state in
            state.operations.values
                .filter { $0.partition == partition && ($0.idempotencyKey == key || $0.mergedKeys.contains(key)) }
                .max { $0.sequence < $1.sequence }
        }
    }

    package func operations(
        partitions: [PartitionID]?, states: [OperationState]?, after: String?, limit: Int
    ) async throws(StoreError) -> Page<Operation> {
        let all = state.withLock { state in
            state.operationPages += 1
            return Array(state.operations.values)
        }.filter { operation in
            (partitions?.contains(operation.partition) ?? true) && (states?.contains(operation.state) ?? true)
        }
        return page(all, after: after, limit: limit) { $0.id.text }
    }

    package func conflict(_ id: String) async throws(StoreError) -> Conflict? { state.withLock { $0.conflicts[id] } }

    package func conflicts(
        partitions: [PartitionID]?, open: Bool, after: String?, limit: Int
    ) async throws(StoreError) -> Page<Conflict> {
        let all = state.withLock { Array($0.conflicts.values) }.filter { conflict in
            (partitions?.contains(conflict.key.partition) ?? true) && (conflict.closedAt == nil) == open
        }
        return page(all, after: after, limit: limit) { $0.id }
    }

    package func keyRecord(partition: PartitionID, key: String) async throws(StoreError) -> KeyRecord? {
        state.withLock { $0.records[RecordKey(partition: partition, key: key)] }
    }

    package func makeBody(
        for purpose: ContentPurpose, length: Int64?
    ) async throws(StoreError) -> any BodyWriter {
        try check(adding: length ?? 0)
        return MemoryBodyWriter(store: self)
    }

    package func read(_ content: Content, range: Range<Int64>?) async throws(StoreError) -> any BodySource {
        guard let bytes = content.inline ?? state.withLock({ $0.bodies[content.digest] }) else {
            throw lack
        }
        let range = range ?? 0..<Int64(bytes.count)
        return MemoryBodySource(Array(bytes[Int(range.lowerBound)..<Int(range.upperBound)]))
    }

    package func file(of content: Content) async throws(StoreError) -> String? { nil }

    package func select(_ query: MemberQuery) async throws(StoreError) -> any MemberSelection {
        MemorySelection(query)
    }

    package func usage() async -> StoreUsage {
        state.withLock { state in
            let bytes = state.bodies.values.reduce(0) { $0 + Int64($1.count) }
            return StoreUsage(
                copies: bytes, operations: 0, limit: limit, entries: Int64(state.entries.count), viewBytes: 0)
        }
    }

    package func save() async throws(StoreError) {}
    package func close() async {}

    /// Throws where that many bytes more can't be held, or a failure is set.
    func check(adding length: Int64) throws(StoreError) {
        let failure: StoreError? = state.withLock { state in
            if let failure = state.failure { return failure }
            let held = state.bodies.values.reduce(0) { $0 + Int64($1.count) }
            return length > limit ? .tooLarge : held + length > limit ? .full : nil
        }
        if let failure { throw failure }
    }

    func keep(_ bytes: [UInt8]) -> Content {
        let digest = Self.digest(of: bytes)
        state.withLock { $0.bodies[digest] = bytes }
        return Content(digest: digest, length: Int64(bytes.count), inline: bytes)
    }

    /// Four FNV-1a sums with different seeds.
    package static func digest(of bytes: [UInt8]) -> Digest {
        let sums = (0..<4).flatMap { (seed: UInt64) -> [UInt8] in
            var sum: UInt64 = 0xcbf2_9ce4_8422_2325 ^ (seed &* 0x9e37_79b9_7f4a_7c15)
            for byte in bytes { sum = (sum ^ UInt64(byte)) &* 0x100_0000_01b3 }
            return (0..<8).map { UInt8(truncatingIfNeeded: sum >> (UInt64($0) * 8)) }
        }
        return Digest(bytes: sums)
    }

    private func page<Item: Sendable>(
        _ all: [Item], after: String?, limit: Int, name: (Item) -> String
    ) -> Page<Item> {
        let following = all.map { (name: name($0), item: $0) }
            .filter { item in after.map { item.name > $0 } ?? true }
            .sorted { $0.name < $1.name }
        let items = following.prefix(limit)
        return Page(items: items.map(\.item), next: following.count > limit ? items.last?.name : nil)
    }
}
