import CacheCore
import Testing

@testable import Storage

@Suite struct `Memory of hits` {
    private let memory = HitMemory()

    /// Fills a place with bytes that tell of whom it is.
    private func take(_ count: Int, mark: UInt8) -> HitMemory.Place {
        let place = memory.take(count)
        place.bytes.initializeMemory(as: UInt8.self, repeating: mark)
        return place
    }

    private func holds(_ place: HitMemory.Place, _ mark: UInt8) -> Bool { place.bytes.allSatisfy { $0 == mark } }

    @Test(arguments: [0, 1, 64, 65, 1_000, 4_096, 4_097, 100_000])
    func `A place has the bytes that were asked for, and few more`(count: Int) {
        let place = memory.take(count)
        #expect(place.bytes.count >= count && place.bytes.count < count + 33)
        memory.giveBack(place)
    }

    @Test func `Places don't overlap, in whatever order they come and go`() {
        var generator = SystemRandomNumberGenerator()
        var taken: [(place: HitMemory.Place, mark: UInt8)] = []
        for round in 0..<20_000 {
            if taken.count > 500 || (round % 3 == 0 && !taken.isEmpty) {
                let one = taken.remove(at: Int.random(in: taken.indices, using: &generator))
                #expect(holds(one.place, one.mark))
                memory.giveBack(one.place)
            } else {
                let mark = UInt8(truncatingIfNeeded: round)
                taken.append((take(Int.random(in: 1...6_000, using: &generator), mark: mark), mark))
            }
        }
        for one in taken {
            #expect(holds(one.place, one.mark))
            memory.giveBack(one.place)
        }
        #expect(memory.spanCount <= 128)
    }

    @Test func `What is given back is taken again before the system is asked for more`() {
        let places = (0..<1_000).map { _ in memory.take(1_000) }
        let spans = memory.spanCount
        for round in 0..<10 {
            for place in places[(round * 100)..<(round * 100 + 50)] { memory.giveBack(place) }
            _ = (0..<50).map { _ in memory.take(1_000) }
        }
        #expect(memory.spanCount == spans)
    }

    @Test func `A span that nobody uses goes back to the system, but for one of its size`() {
        let places = (0..<1_000).map { _ in memory.take(1_000) }
        #expect(memory.spanCount > 10)
        for place in places { memory.giveBack(place) }
        #expect(memory.spanCount == 1)
    }

    @Test func `Blocks that go give their memory back`() throws {
        for _ in 0..<2 {
            let blocks = try (0..<5_000).map { _ in
                try #require(
                    HitBlock(sampleHit("body"), partition: .none, route: .files, target: [47], in: memory))
            }
            #expect(blocks.allSatisfy { $0.size < 300 } && memory.spanCount > 1)
        }
        #expect(memory.spanCount == 1)
    }
}
