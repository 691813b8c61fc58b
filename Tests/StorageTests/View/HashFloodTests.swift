import CacheCore
import Testing

@testable import Storage

/// Targets that somebody chose so that a table would search long for each.
@Suite struct `Hash floods` {
    private func hash(of target: String, in view: ShardedHitView) -> UInt64 {
        unsafe Array(target.utf8).withUnsafeBytes {
            view.hash(of: unsafe HitKey(partition: .none, route: .resources, target: $0))
        }
    }

    /// How many of the targets the fullest of 256 places has, in the bits that choose the place or, from 32 on, the shard.
    private func fullest(_ targets: [String], in view: ShardedHitView, shift: UInt64) -> Int {
        var counts = [Int](repeating: 0, count: 256)
        for target in targets { counts[Int(hash(of: target, in: view) >> shift & 255)] += 1 }
        return counts.max() ?? 0
    }

    @Test(arguments: [0, 32] as [UInt64])
    func `Targets that meet in one place of a view lie apart in another process's`(shift: UInt64) {
        let known = ShardedHitView(memoryLimit: 1 << 20)
        let other = ShardedHitView(memoryLimit: 1 << 20)
        let chosen = (0..<100_000).map { "/items/\($0)" }.filter { hash(of: $0, in: known) >> shift & 255 == 0 }
        #expect(fullest(chosen, in: known, shift: shift) == chosen.count && chosen.count > 200)
        // One or two each by chance; more than twelve in none of 10^6 runs.
        #expect(fullest(chosen, in: other, shift: shift) <= 12)
    }

    @Test func `Targets that meet under usual hashes without a seed lie apart`() {
        // Under h * 31 + c, "Aa" and "BB" are one; under h * 33 + c, "EZ" and "F9".
        for (one, two) in [("Aa", "BB"), ("EZ", "F9")] {
            let targets = (0..<256).map { number in
                "/" + (0..<8).map { number >> $0 & 1 == 0 ? one : two }.joined()
            }
            let view = ShardedHitView(memoryLimit: 1 << 20)
            #expect(fullest(targets, in: view, shift: 0) <= 12)
            #expect(fullest(targets, in: view, shift: 32) <= 12)
        }
    }
}
