import CacheCore
import HTTPModel

/// Which store has which targets: a value, looked at and changed under one lock.
struct RoutingTable: Sendable {
    struct Slot: Sendable {
        var name: String
        var patterns: [PathPattern]
        /// nil while it is detached.
        var store: (any Store)?
        var opening = 0
        var status: StoreStatus
        /// nil: as all stores that have none of their own.
        var mode: CacheMode?
        /// Targets with unfinished operations that it took with it.
        var waiting: Set<Target> = []

        var isServing: Bool { store != nil && status == .started }
    }

    /// Of the stores that have none of their own.
    private(set) var commonMode = CacheMode.automatic
    /// The first one is the store `default`, which has what no other one has.
    private(set) var slots: [Slot]
    /// Where unfinished operations and open conflicts lie, and of which target they speak: a target with such a record stays with
    /// its store until it is settled, whatever is attached meanwhile.
    private var records: [Record: (slot: Int, target: Target)] = [:]
    private var pinned: [Target: [Int: Int]] = [:]

    enum Record: Hashable, Sendable {
        case operation(OperationID)
        case conflict(String)
    }

    init(_ store: any Store) {
        slots = [Slot(name: StoreName.standard, patterns: [], store: store, status: .started)]
    }

    func index(named name: String) -> Int? { slots.firstIndex { $0.name == name } }

    /// The slot that has the target: one that holds a record of it, there or away, else the most specific pattern's, of one that is
    /// there before one that is not, else the default.
    func index(of target: Target) -> Int {
        guard slots.count > 1 else { return 0 }
        if let holders = pinned[target], let holder = holders.keys.min() { return holder }
        if let holder = slots.firstIndex(where: { !$0.isServing && $0.waiting.contains(target) }) { return holder }
        let path = target.path
        var best = (index: 0, rank: (-1, 0))
        for (index, slot) in slots.enumerated().dropFirst() {
            for pattern in slot.patterns where pattern.matches(path) {
                let rank = (pattern.specificity, slot.store == nil ? 0 : 1)
                if rank > best.rank { best = (index, rank) }
            }
        }
        return best.index
    }

    func index(of record: Record) -> Int? { records[record]?.slot }

    func place(of target: Target) -> StorePlace {
        let slot = slots[index(of: target)]
        let access: StorePlace.Access =
            !slot.isServing ? .passing(.storeDetached) : keepsCopies(slot) ? .open : .passing(.cacheDisabled)
        return StorePlace(
            store: slot.name, opening: slot.opening, access: access,
            hasWaitingWrite: !slot.isServing && slot.waiting.contains(target))
    }

    /// Adds a slot, or changes the one of the name.
    mutating func set(_ slot: Slot) -> Int {
        guard let index = index(named: slot.name) else {
            slots.append(slot)
            return slots.count - 1
        }
        slots[index] = slot
        return index
    }

    mutating func change(_ index: Int, _ body: (inout Slot) -> Void) { body(&slots[index]) }

    func keepsCopies(_ slot: Slot) -> Bool { (slot.mode ?? commonMode) != .no }

    /// For the stores that have none of their own.
    mutating func setMode(_ mode: CacheMode) {
        commonMode = mode
        for index in slots.indices where slots[index].mode == nil { slots[index].opening += 1 }
    }

    // MARK: Records

    /// Notes what a commit to the slot's store changed.
    mutating func note(_ changes: [StoreChange], in index: Int) {
        for change in changes {
            switch change {
            case .putOperation(let operation):
                put(.operation(operation.id), operation.state.isFinal ? nil : operation.lane.target, in: index)
            case .putConflict(let conflict):
                put(.conflict(conflict.id), conflict.closedAt == nil ? conflict.key.target : nil, in: index)
            default: break
            }
        }
    }

    mutating func note(_ image: QueueImage, in index: Int) {
        note(image.operations.map { .putOperation($0) } + image.conflicts.map { .putConflict($0) }, in: index)
    }

    /// Forgets all records of the slot.
    mutating func forget(_ index: Int) {
        for (record, place) in records where place.slot == index { put(record, nil, in: place.slot) }
    }

    private mutating func put(_ record: Record, _ target: Target?, in index: Int) {
        if let old = records.removeValue(forKey: record) {
            let count = pinned[old.target]?[old.slot] ?? 0
            pinned[old.target]?[old.slot] = count > 1 ? count - 1 : nil
            if pinned[old.target]?.isEmpty == true { pinned[old.target] = nil }
        }
        guard let target else { return }
        records[record] = (index, target)
        pinned[target, default: [:]][index, default: 0] += 1
    }
}
