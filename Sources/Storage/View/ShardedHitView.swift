package import CacheCore
import HTTPModel
import Synchronization

/// The view of a store in memory: shards, each a table under a lock that is held only to find a block and retain it.
/// Callable from any thread.
package final class ShardedHitView: HitView {
    private final class Shard: Sendable {
        let table: Mutex<HitTable>
        init(limit: Int) { table = Mutex(HitTable(limit: limit)) }
    }

    private static let shardCount = 32

    private let shards: InlineArray<32, Shard>
    private let memory = HitMemory()
    /// Secret, so that nobody can choose targets whose hashes collide.
    private let seed = UInt64.random(in: .min ... .max)

    /// `memoryLimit` in bytes, over all shards alike; 0 or less: nothing is kept.
    package init(memoryLimit: Int64) {
        let limit = Int(max(memoryLimit, 0)) / Self.shardCount
        shards = InlineArray { _ in Shard(limit: limit) }
    }

    /// What the hits take, in bytes.
    package var bytes: Int64 {
        var sum: Int64 = 0
        for index in shards.indices { sum += shards[index].table.withLock { Int64($0.bytes) } }
        return sum
    }

    package func withHit(
        _ key: HitKey, selects: (UnsafeRawBufferPointer) -> Bool, _ body: (HitParts) -> Bool
    ) -> Bool {
        let (shard, hash) = place(of: key)
        guard let block = shard.table.withLock({ unsafe $0.find(key, hash: hash, selects: selects) }) else {
            return false
        }
        let isAnswered = block.withParts(body)
        if !isAnswered { shard.table.withLock { $0.takeBackHit(of: key, hash: hash) } }
        return isAnswered
    }

    package func ticket(_ key: EntryKey) -> UInt64 {
        Self.withHitKey(key, .resources) { key in place(of: key).shard.table.withLock { $0.generation } }
    }

    package func isWorthRoom(_ key: EntryKey) -> Bool {
        Self.withHitKey(key, .resources) { key in
            let (shard, hash) = place(of: key)
            return shard.table.withLock { $0.isWorthRoom(hash: hash) }
        }
    }

    package func publish(_ hit: PreparedHit, for key: EntryKey, route: Route, ticket: UInt64) {
        let target = key.target.text.fieldBytes
        guard let block = HitBlock(hit, partition: key.partition, route: route, target: target, in: memory)
        else { return }
        Self.withHitKey(key, route) { key in
            let (shard, hash) = place(of: key)
            shard.table.withLock { table in
                if table.generation == ticket { table.insert(block, for: key, hash: hash) }
            }
        }
    }

    package func invalidate(_ key: EntryKey) {
        Self.withHitKey(key, .resources) { key in
            let (shard, hash) = place(of: key)
            var other = key
            other.route = .files
            shard.table.withLock { table in
                table.voidTickets()
                table.remove(key, hash: hash)
                table.remove(other, hash: hash)
            }
        }
    }

    package func takeUse(of key: EntryKey) -> Bool {
        Self.withHitKey(key, .resources) { key in
            let (shard, hash) = place(of: key)
            return shard.table.withLock { $0.takeUse(of: key, hash: hash) }
        }
    }

    package func note(_ uses: EntryUses, of key: EntryKey) {
        Self.withHitKey(key, .resources) { key in
            let (shard, hash) = place(of: key)
            shard.table.withLock { $0.note(uses, hash: hash) }
        }
    }

    package func uses(of key: EntryKey) -> EntryUses {
        Self.withHitKey(key, .resources) { key in
            let (shard, hash) = place(of: key)
            return shard.table.withLock { $0.uses(of: key, hash: hash) }
        }
    }

    package func invalidateAll() {
        for index in shards.indices {
            // What was in the table is freed after the lock is let go.
            let former = shards[index].table.withLock { table in
                let former = table
                table = table.emptied()
                return former
            }
            _ = consume former
        }
    }

    /// The upper half of the hash chooses the shard, the lower one the place in it.
    private func place(of key: HitKey) -> (shard: Shard, hash: UInt32) {
        let hash = hash(of: key)
        let shard = shards[Int(truncatingIfNeeded: hash >> 32) & (Self.shardCount - 1)]
        return (shard, UInt32(truncatingIfNeeded: hash))
    }

    private static func withHitKey<Result>(_ key: EntryKey, _ route: Route, _ body: (HitKey) -> Result) -> Result {
        func run(_ target: UnsafeRawBufferPointer) -> Result {
            body(unsafe HitKey(partition: key.partition, route: route, target: target))
        }
        let text = key.target.text
        // 0xF4 begins what may stand for bytes that are no UTF-8.
        if !text.utf8.contains(0xF4),
            let result = unsafe text.utf8.withContiguousStorageIfAvailable({ unsafe run(UnsafeRawBufferPointer($0)) })
        {
            return result
        }
        return unsafe text.fieldBytes.withUnsafeBytes { unsafe run($0) }
    }

    /// Of partition and target, the same for both routes, so that they share a shard. Multiplies and folds eight bytes at a time.
    func hash(of key: HitKey) -> UInt64 {
        let target = unsafe key.target
        let count = target.count
        var hash = Self.fold(seed ^ key.partition.high, key.partition.low ^ 0x9E37_79B9_7F4A_7C15)
        var place = 0
        while place + 8 <= count {
            let word = unsafe target.loadUnaligned(fromByteOffset: place, as: UInt64.self)
            hash = Self.fold(hash ^ word, seed ^ 0xE703_7ED1_A0B4_28DB)
            place += 8
        }
        var rest: UInt64 = 0
        while place < count {
            rest = rest << 8 | UInt64(unsafe target[place])
            place += 1
        }
        return Self.fold(hash ^ rest, seed ^ UInt64(truncatingIfNeeded: count))
    }

    private static func fold(_ one: UInt64, _ other: UInt64) -> UInt64 {
        // Odd, so that no factor takes all information with it.
        let product = one.multipliedFullWidth(by: other | 1)
        return product.high ^ product.low
    }
}
