package import CacheCore
import HTTPModel
import Synchronization

/// All stores of the service as one: each target has its store, chosen by the most specific pattern, and nothing of one store is
/// seen through another. Callable from any task.
///
/// A commit that touches several stores is one transaction in each. They are done in an order in which a crash between them
/// loses nothing: what others name is settled last.
package final class StoreRouter: Store {
    let table: Mutex<RoutingTable>
    private let standard: any Store
    private let view: (any HitView)?
    /// What commits have expired, in whatever store.
    package let expiries = ExpiryLog()

    /// `standard` has every target that no attached store has.
    package init(_ standard: any Store, view: (any HitView)? = nil) {
        self.standard = standard
        self.view = view
        table = Mutex(RoutingTable(standard))
    }

    package var epoch: Int64 { standard.epoch }
    package var partitionKey: [UInt8] { standard.partitionKey }

    package func partitionKey(of target: Target) -> [UInt8] {
        let store = table.withLock { $0.slots[$0.index(of: target)].store }
        return store?.partitionKey ?? standard.partitionKey
    }

    /// Those of all stores that are started.
    package var partitionKeys: [[UInt8]] { seats.map(\.store.partitionKey) }

    package func delivers(_ target: Target) -> Bool { seat(of: target)?.store.delivers(target) ?? true }

    package func sequence(after last: Int64, for target: Target) -> Int64 {
        (seat(of: target)?.store ?? standard).sequence(after: last, for: target)
    }

    package func place(of target: Target) -> StorePlace { table.withLock { $0.place(of: target) } }

    // MARK: Choosing

    /// A store with its place in the table.
    struct Seat: Sendable {
        var index: Int
        var name: String
        var store: any Store
        /// Not in the mode `no`.
        var keepsCopies: Bool
    }

    /// The store of the target; nil where it is detached or stopped.
    func seat(of target: Target) -> Seat? {
        table.withLock { table in
            let index = table.index(of: target)
            return Self.seat(index, table)
        }
    }

    private static func seat(_ index: Int, _ table: RoutingTable) -> Seat? {
        let slot = table.slots[index]
        guard slot.isServing, let store = slot.store else { return nil }
        return Seat(index: index, name: slot.name, store: store, keepsCopies: table.keepsCopies(slot))
    }

    /// All stores that are started, the default one first.
    var seats: [Seat] {
        table.withLock { table in table.slots.indices.compactMap { Self.seat($0, table) } }
    }

    // MARK: Commits

    package func commit(_ changes: [StoreChange], durable: Bool) async throws(StoreError) {
        expiries.note(changes)
        let parts = try table.withLock { (table) throws(StoreError) in
            table.slots.count > 1 ? try Self.split(changes, table) : nil
        }
        guard let parts else { return try await standard.commit(changes, durable: durable) }
        var failures = StoreFailures()
        for part in parts {
            do throws(StoreError) {
                // What was brought is held until the commit refers to it.
                let brought = try await bringBodies(of: part.changes, to: part.seat)
                defer { withExtendedLifetime(brought) {} }
                try await part.seat.store.commit(adapted(part.changes, to: part.seat.store), durable: durable)
            } catch {
                failures.add(error, of: part.seat)
                if !error.isAccepted { break }
            }
            table.withLock { $0.note(part.changes, in: part.seat.index) }
        }
        try failures.end()
    }

    private static func split(
        _ changes: [StoreChange], _ table: RoutingTable
    ) throws(StoreError) -> [(seat: Seat, changes: [StoreChange])] {
        var parts: [Int: [StoreChange]] = [:]
        /// The store that is to be last: it settles what the others name.
        var last: Int?
        for change in changes {
            let index: Int
            switch change {
            case .putCopy(let key, _), .putListed(let key, _), .putParts(let key, _), .removeParts(let key, _),
                .expire(let key), .removeEntry(let key), .evict(let key, _), .setPolicy(let key, _),
                .setPin(let key, _, _):
                index = table.index(of: key.target)
                // A copy that comes too late for its store is no loss.
                if seat(index, table) == nil { continue }
            case .expirePath(_, let path):
                index = table.index(of: Target(unchecked: path))
                if seat(index, table) == nil { continue }
            case .putOperation(let operation):
                index = table.index(of: .operation(operation.id)) ?? table.index(of: operation.lane.target)
                if operation.state.isFinal { last = index }
            case .putConflict(let conflict):
                index = table.index(of: .conflict(conflict.id)) ?? table.index(of: conflict.key.target)
            case .putKeyRecord(let record): index = table.index(of: record.target)
            case .putAlias(let alias):
                index = table.index(of: alias.temporary)
                last = index
            case .removeKeyRecord, .movePartition, .dropMembers:
                for index in table.slots.indices where seat(index, table) != nil {
                    parts[index, default: []].append(change)
                }
                continue
            }
            parts[index, default: []].append(change)
        }
        var result: [(seat: Seat, changes: [StoreChange])] = []
        for index in parts.keys.sorted(by: { ($0 == last ? 1 : 0, $0) < ($1 == last ? 1 : 0, $1) }) {
            guard let seat = seat(index, table) else { throw .detached }
            result.append((seat, parts[index] ?? []))
        }
        return result
    }

    // MARK: Bodies

    package func makeBody(for purpose: ContentPurpose, length: Int64?) async throws(StoreError) -> any BodyWriter {
        try await standard.makeBody(for: purpose, length: length)
    }

    package func makeBody(
        for purpose: ContentPurpose, at target: Target, length: Int64?
    ) async throws(StoreError) -> any BodyWriter {
        guard let seat = seat(of: target) else { throw .detached }
        return try await seat.store.makeBody(for: purpose, length: length)
    }

    package func makeShort(
        _ bytes: [UInt8], for purpose: ContentPurpose, at target: Target?
    ) async throws(StoreError) -> Content? {
        guard let target else { return try await standard.makeShort(bytes, for: purpose, at: nil) }
        guard let seat = seat(of: target) else { throw .detached }
        return try await seat.store.makeShort(bytes, for: purpose, at: target)
    }

    package func holds(_ content: Content) -> Bool { seats.contains { $0.store.holds(content) } }

    package func read(_ content: Content, range: Range<Int64>?) async throws(StoreError) -> any BodySource {
        let holder = content.inline == nil ? seats.first { $0.store.holds(content) } : nil
        return try await (holder?.store ?? standard).read(content, range: range)
    }

    package func file(of content: Content) async throws(StoreError) -> String? {
        let holder = content.inline == nil ? seats.first { $0.store.holds(content) } : nil
        return try await (holder?.store ?? standard).file(of: content)
    }

    /// Copies bodies that were put into another store, by an upload or before this store took the target over.
    private func bringBodies(of changes: [StoreChange], to seat: Seat) async throws(StoreError) -> [Content] {
        var brought: [Content] = []
        for content in changes.flatMap(\.contents) where content.inline == nil && !seat.store.holds(content) {
            guard let holder = seats.first(where: { $0.store.holds(content) }) else { continue }
            let source = try await holder.store.read(content, range: nil)
            let writer = try await seat.store.makeBody(for: .operation, length: content.length)
            do {
                while let piece = try await source.next() { try await writer.append(piece) }
                brought.append(try await writer.finish())
            } catch {
                writer.discard()
                throw error as? StoreError ?? .failed(reason: "a body could not be copied to its store")
            }
        }
        return brought
    }

    package func select(_ query: MemberQuery) async throws(StoreError) -> any MemberSelection {
        try await standard.select(query)
    }

    package func intake() async throws(StoreError) -> any EntryIntake { RoutedIntake(self) }

    package func save() async throws(StoreError) {
        try await forEachSeat { (store) throws(StoreError) in try await store.save() }
    }

    package func save(for reason: SaveReason) async throws(StoreError) -> Bool {
        var isSaved = false
        try await forEachSeat { (store) throws(StoreError) in
            if try await store.save(for: reason) { isSaved = true }
        }
        return isSaved
    }

    /// All of them, whatever becomes of one.
    private func forEachSeat(_ body: (any Store) async throws(StoreError) -> Void) async throws(StoreError) {
        var failures = StoreFailures()
        for seat in seats {
            do throws(StoreError) { try await body(seat.store) } catch { failures.add(error, of: seat) }
        }
        try failures.end()
    }

    /// Of all stores that have none of their own, at one moment for those who ask: without a cache their targets pass through.
    package func setMode(_ mode: CacheMode) async throws(StoreError) {
        let stores = table.withLock { $0.slots.filter { $0.mode == nil }.compactMap(\.store) }
        for store in stores { try await store.setMode(mode) }
        table.withLock { $0.setMode(mode) }
        invalidateView()
    }

    package func close() async {
        for store in table.withLock({ $0.slots.compactMap(\.store) }) { await store.close() }
    }

    package func usage() async -> StoreUsage {
        var sum = await standard.usage()
        for seat in seats.dropFirst() {
            let usage = await seat.store.usage()
            sum.copies += usage.copies
            sum.operations += usage.operations
            sum.limit += usage.limit
            sum.entries += usage.entries
            sum.unfinished += usage.unfinished
            sum.damagedBodies += usage.damagedBodies
            sum.isFailing = sum.isFailing || usage.isFailing
            sum.sidesOut += usage.sidesOut
            sum.sideFailures += usage.sideFailures
        }
        return sum
    }

    /// Forgets all prepared hits: whatever is prepared may be another store's by now.
    func invalidateView() { view?.invalidateAll() }
}

extension StoreChange {
    /// Every body that the change refers to.
    var contents: [Content] {
        switch self {
        case .putCopy(_, let copy), .putListed(_, let copy): [copy.content]
        case .putParts(_, let parts): parts.pieces.map(\.content)
        case .dropMembers(_, _, _, let gone?): [gone.content]
        case .putOperation(let operation): operation.contents
        case .putConflict(let conflict): conflict.contents
        case .putKeyRecord(let record): record.contents
        default: []
        }
    }
}
