import CacheCore

/// What entries were asked for, by the hashes of their keys, in bounded memory: one that nobody asks for while `limit` others are asked
/// for begins anew.
struct UseCounts {
    private var recent: [UInt32: EntryUses] = [:]
    private var earlier: [UInt32: EntryUses] = [:]
    private let limit: Int

    init(limit: Int) { self.limit = limit }

    subscript(hash: UInt32) -> EntryUses { recent[hash] ?? earlier[hash] ?? EntryUses() }

    mutating func add(_ uses: EntryUses, to hash: UInt32) {
        guard uses != EntryUses() else { return }
        let sum = self[hash] + uses
        if recent[hash] == nil, recent.count >= limit {
            earlier = recent
            recent = [:]
        }
        recent[hash] = sum
    }
}
