package import CacheCore
import HTTPModel
import Synchronization

extension MirroredStore {
    // MARK: Entries

    /// Both sides reconciled; the result is written back to the side that lacks it, where that can be done.
    package func entry(_ key: EntryKey) async throws(StoreError) -> Entry? {
        try await behind.entry(key) { () throws(StoreError) in try await writtenEntry(key) }
    }

    private func writtenEntry(_ key: EntryKey) async throws(StoreError) -> Entry? {
        let (primary, mirror) = state.withLock { ($0.primary, $0.mirror) }
        guard plan.role == .app else {
            return try await fromMain { (store) throws(StoreError) in try await store.entry(key) }
        }
        let name = RecordName(key)
        let mine = try await side(.primary, primary, name)
        let theirs = try await side(.mirror, mirror, name)
        if mine == nil, theirs == nil { throw .side(.primary, .failed(reason: "neither location can be read")) }
        let holds: MirrorRecord
        if let mine, let theirs, mine.counter != theirs.counter {
            let isTaken = theirs.replaces(mine, winsTies: false, by: rule)
            holds = isTaken ? theirs : mine
            await writeBack(holds, to: isTaken ? primary : mirror, from: isTaken ? mirror : primary, winsTies: !isTaken)
        } else {
            holds = mine ?? theirs ?? MirrorRecord(name: name, counter: 0, value: .gone)
        }
        guard case .entry(let entry) = holds.value else { return nil }
        primary?.shared.memory.noteUse(of: key, at: clock.now)
        return entry
    }

    /// What a side has; nil where it is left out. Throws where that may not be.
    private func side(
        _ side: StoreSide, _ store: SQLiteStore?, _ name: RecordName
    ) async throws(StoreError) -> MirrorRecord? {
        do throws(StoreError) {
            guard let store, store.isInPlace else { throw .failed(reason: "it can't be reached") }
            return try await store.records([name])[0]
        } catch {
            if store != nil { note(error, of: side) }
            if plan.isStrict { throw .side(side, error) }
            return nil
        }
    }

    private func writeBack(
        _ record: MirrorRecord, to store: SQLiteStore?, from other: SQLiteStore?, winsTies: Bool
    ) async {
        guard let store, let other else { return }
        do throws(StoreError) {
            let (contents, whole) = try await store.bring([record], from: other)
            _ = try await store.take(whole, winsTies: winsTies, by: writer, rule: rule, durable: false)
            withExtendedLifetime(contents) {}
        } catch { note(error, of: winsTies ? .mirror : .primary) }
    }

    package func entries(_ filter: EntryFilter, after: String?, limit: Int) async throws(StoreError) -> Page<Entry> {
        await behind.flush()
        return try await fromMain { (store) throws(StoreError) in
            try await store.entries(filter, after: after, limit: limit)
        }
    }

    package func partitions() async throws(StoreError) -> [(id: PartitionID, entries: Int64)] {
        await behind.flush()
        return try await fromMain { (store) throws(StoreError) in try await store.partitions() }
    }

    // MARK: The queue, of which both sides have all

    package func loadQueue() async throws(StoreError) -> QueueImage {
        let image = try await fromMain { (store) throws(StoreError) in try await store.loadQueue() }
        noteSeen(image.operations.map { .putOperation($0) })
        return image
    }

    package func operation(_ id: OperationID) async throws(StoreError) -> Operation? {
        try await fromMain { (store) throws(StoreError) in try await store.operation(id) }
    }

    package func operation(partition: PartitionID, key: String) async throws(StoreError) -> Operation? {
        try await fromMain { (store) throws(StoreError) in try await store.operation(partition: partition, key: key) }
    }

    package func operations(
        partitions: [PartitionID]?, states: [OperationState]?, after: String?, limit: Int
    ) async throws(StoreError) -> Page<Operation> {
        try await fromMain { (store) throws(StoreError) in
            try await store.operations(partitions: partitions, states: states, after: after, limit: limit)
        }
    }

    package func conflict(_ id: String) async throws(StoreError) -> Conflict? {
        try await fromMain { (store) throws(StoreError) in try await store.conflict(id) }
    }

    package func conflicts(
        partitions: [PartitionID]?, open: Bool, after: String?, limit: Int
    ) async throws(StoreError) -> Page<Conflict> {
        try await fromMain { (store) throws(StoreError) in
            try await store.conflicts(partitions: partitions, open: open, after: after, limit: limit)
        }
    }

    package func keyRecord(partition: PartitionID, key: String) async throws(StoreError) -> KeyRecord? {
        try await fromMain { (store) throws(StoreError) in try await store.keyRecord(partition: partition, key: key) }
    }

    // MARK: Bodies

    package func makeBody(for purpose: ContentPurpose, length: Int64?) async throws(StoreError) -> any BodyWriter {
        let main = try usable[0]
        do throws(StoreError) { return try await main.makeBody(for: purpose, length: length) } catch {
            throw error == .tooLarge ? error : error.at(main.side)
        }
    }

    package func holds(_ content: Content) -> Bool { sides.contains { $0.holds(content) } }

    /// From the primary side; where that is damaged from the mirror, which mends it.
    package func read(_ content: Content, range: Range<Int64>?) async throws(StoreError) -> any BodySource {
        let sides = try usable
        let main = sides[0]
        do throws(StoreError) { return try await main.read(content, range: range) } catch {
            guard sides.count > 1, sides[1].holds(content), !plan.isStrict else { throw error.at(main.side) }
            note(error, of: main.side)
            let source = try await blaming(sides[1]) { () throws(StoreError) in
                try await sides[1].read(content, range: range)
            }
            do throws(StoreError) { _ = try await main.bring(content, from: sides[1]) } catch {
                note(error, of: main.side)
            }
            return source
        }
    }

    package func file(of content: Content) async throws(StoreError) -> String? {
        _ = try await read(content, range: 0..<0)
        return try await fromMain { (store) throws(StoreError) in try await store.file(of: content) }
    }

    // Of the side that is asked; both are compared by `compare`.
    package func bodyCount() async throws(StoreError) -> Int64 {
        try await fromMain { (store) throws(StoreError) in try await store.bodyCount() }
    }

    package func examine(after place: String?) async throws(StoreError) -> BodyExamination {
        try await fromMain { (store) throws(StoreError) in try await store.examine(after: place) }
    }

    package func select(_ query: MemberQuery) async throws(StoreError) -> any MemberSelection {
        await behind.flush()
        return try await fromMain { (store) throws(StoreError) in try await store.select(query) }
    }

    package func usage() async -> StoreUsage {
        var usage = StoreUsage(
            copies: 0, operations: 0, limit: plan.options.maxStoreSize, entries: 0, viewBytes: view?.bytes ?? 0)
        let sides = sides
        if let main = sides.first { usage = await main.usage() }
        if sides.count > 1 { usage.damagedBodies += await sides[1].usage().damagedBodies }
        let status = status
        usage.sidesOut = status.out.isEmpty && status.isBehind ? 1 : status.out.count
        usage.sideFailures = status.failures
        return usage
    }

    // MARK: The side that is asked

    /// The primary side first, or in an extension the mirror; where an app's primary one is left out, the mirror.
    private var usable: [SQLiteStore] {
        get throws(StoreError) {
            let sides = sides
            guard sides.isEmpty else { return sides }
            throw .side(plan.role == .app ? .primary : .mirror, .failed(reason: "it can't be reached"))
        }
    }

    private func fromMain<Value>(
        _ body: (SQLiteStore) async throws(StoreError) -> Value
    ) async throws(StoreError) -> Value {
        let sides = try usable
        let main = sides[0]
        do throws(StoreError) { return try await body(main) } catch {
            note(error, of: main.side)
            guard sides.count > 1, !plan.isStrict else { throw error.at(main.side) }
            return try await blaming(sides[1]) { () throws(StoreError) in try await body(sides[1]) }
        }
    }
}
