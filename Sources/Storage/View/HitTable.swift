import CacheCore

/// The hits of one shard: open addressing with linear probing, evicted by the hand of a clock (CLOCK). Hashes are the half that
/// did not choose the shard. Whoever has the shard's lock may call.
struct HitTable {
    private struct Slot {
        var block: HitBlock?
        var hash: UInt32 = 0
        private var marks: UInt32 = 0

        init() {}

        init(hash: UInt32, block: HitBlock) {
            self.hash = hash
            self.block = block
        }

        /// Lookups since they were last moved to `counts`.
        var hits: UInt32 {
            get { marks >> 1 }
            set { marks = newValue << 1 | marks & 1 }
        }
        static let mostHits = UInt32.max >> 1
        /// Set by a lookup, cleared when the hand passes.
        var isUsed: Bool {
            get { marks & 1 != 0 }
            set { marks = marks & ~1 | (newValue ? 1 : 0) }
        }
    }

    private static let smallest = 16
    /// Clients that differ in many ways must not make a long search of each lookup.
    private static let mostVariants = 8
    /// How many entries are counted at least, beside those in the table.
    private static let countedEntries = 1024

    private var slots = [Slot](repeating: Slot(), count: Self.smallest)
    private var count = 0
    private var hand = 0
    private let limit: Int
    /// What the blocks count for, in bytes.
    private(set) var bytes = 0
    /// Of entries whose blocks have gone, and of reads that were answered elsewhere.
    private var counts = UseCounts(limit: Self.countedEntries)
    /// Counts invalidations; tickets are its values.
    private(set) var generation: UInt64 = 0

    /// `limit` in bytes.
    init(limit: Int) { self.limit = limit }

    /// The block of the key whose selecting fields the request has, marked as used and counted.
    mutating func find(_ key: HitKey, hash: UInt32, selects: (UnsafeRawBufferPointer) -> Bool) -> HitBlock? {
        guard let place = place(of: key, hash, where: { unsafe $0.withSelecting(selects) }) else { return nil }
        slots[place].isUsed = true
        slots[place].hits += 1
        if slots[place].hits == Slot.mostHits { keepCount(of: place) }
        return slots[place].block
    }

    /// What was found for the key answered nothing.
    mutating func takeBackHit(of key: HitKey, hash: UInt32) {
        if let place = places(of: key, hash).first(where: { slots[$0].hits > 0 }) {
            slots[place].hits -= 1
        } else if counts[hash].hits > 0 {
            counts.add(EntryUses(hits: -1), to: hash)
        }
    }

    mutating func note(_ uses: EntryUses, hash: UInt32) { counts.add(uses, to: hash) }

    func uses(of key: HitKey, hash: UInt32) -> EntryUses {
        places(of: key, hash).reduce(counts[hash]) { $0 + EntryUses(hits: Int(slots[$1].hits)) }
    }

    private mutating func keepCount(of place: Int) {
        counts.add(EntryUses(hits: Int(slots[place].hits)), to: slots[place].hash)
        slots[place].hits = 0
    }

    /// Whether a block of the key was found since this was asked last, or since the hand passed; under either route.
    mutating func takeUse(of key: HitKey, hash: UInt32) -> Bool {
        var wasUsed = false
        for place in places(of: key, hash) where slots[place].isUsed {
            slots[place].isUsed = false
            wasUsed = true
        }
        return wasUsed
    }

    /// Whether nothing has to go for a block, or its entry was asked for more than once of late.
    func isWorthRoom(hash: UInt32) -> Bool {
        let uses = counts[hash]
        return bytes < limit - limit / 8 || uses.hits + uses.misses > 1
    }

    /// Puts a block in place of the key's former one with the same selecting fields, and evicts others until it fits. One that takes
    /// more than half of the limit is left out: it would push out nearly all others.
    mutating func insert(_ block: HitBlock, for key: HitKey, hash: UInt32) {
        unsafe block.withSelecting { selecting in
            let former = place(of: key, hash) { unsafe $0.withSelecting { unsafe $0.elementsEqual(selecting) } }
            if let former { empty(former) }
        }
        if variants(of: key, hash) >= Self.mostVariants, let place = place(of: key, hash) { empty(place) }
        let size = block.size
        guard size <= limit / 2 else { return }
        while bytes + size > limit { evictOne() }
        if (count + 1) * 4 > slots.count * 3 { grow() }
        put(Slot(hash: hash, block: block))
        count += 1
        bytes += size
    }

    /// Removes all variants.
    mutating func remove(_ key: HitKey, hash: UInt32) {
        while let place = place(of: key, hash) { empty(place) }
    }

    /// Makes all tickets so far void.
    mutating func voidTickets() { generation += 1 }

    /// An empty table with what was counted, in which all tickets so far are void.
    func emptied() -> HitTable {
        var table = HitTable(limit: limit)
        table.generation = generation + 1
        table.counts = counts
        for slot in slots where slot.block != nil {
            table.counts.add(EntryUses(hits: Int(slot.hits)), to: slot.hash)
        }
        return table
    }

    // MARK: Places

    private var mask: Int { slots.count - 1 }

    private func home(_ hash: UInt32) -> Int { Int(truncatingIfNeeded: hash) & mask }

    private func place(of key: HitKey, _ hash: UInt32, where isRight: (HitBlock) -> Bool = { _ in true }) -> Int? {
        var place = home(hash)
        while let block = slots[place].block {
            if slots[place].hash == hash, block.isFor(key), isRight(block) { return place }
            place = (place + 1) & mask
        }
        return nil
    }

    /// Of all variants, under both routes.
    private func places(of key: HitKey, _ hash: UInt32) -> [Int] {
        var places: [Int] = []
        var place = home(hash)
        while let block = slots[place].block {
            if slots[place].hash == hash, block.isFor(key, underAnyRoute: true) { places.append(place) }
            place = (place + 1) & mask
        }
        return places
    }

    private func variants(of key: HitKey, _ hash: UInt32) -> Int {
        var count = 0
        _ = place(of: key, hash) { _ in
            count += 1
            return false
        }
        return count
    }

    private mutating func put(_ slot: Slot) {
        var place = home(slot.hash)
        while slots[place].block != nil { place = (place + 1) & mask }
        slots[place] = slot
    }

    /// Empties a place and moves those behind it up, so that no marks of deletion gather.
    private mutating func empty(_ place: Int) {
        keepCount(of: place)
        bytes -= slots[place].block?.size ?? 0
        count -= 1
        var hole = place
        var next = (place + 1) & mask
        while slots[next].block != nil {
            // A slot may move where its home is not between the hole and itself.
            if (next &- home(slots[next].hash)) & mask >= (next &- hole) & mask {
                slots[hole] = slots[next]
                hole = next
            }
            next = (next + 1) & mask
        }
        slots[hole] = Slot()
    }

    /// There is a block to evict: the sizes of those in the table are what `bytes` counts.
    private mutating func evictOne() {
        while true {
            // Not moved on after an eviction: another may have moved up into the place.
            if slots[hand].block == nil {
                hand = (hand + 1) & mask
            } else if slots[hand].isUsed {
                slots[hand].isUsed = false
                hand = (hand + 1) & mask
            } else {
                empty(hand)
                return
            }
        }
    }

    private mutating func grow() {
        let former = slots
        slots = [Slot](repeating: Slot(), count: former.count * 2)
        hand = 0
        for slot in former where slot.block != nil { put(slot) }
    }
}
