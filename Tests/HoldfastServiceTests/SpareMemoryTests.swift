import HoldfastService
import Testing

@Suite struct SpareMemoryTests {
    @Test func `what lies free between small things that stay goes back to the system`() {
        var large: [[UInt8]] = []
        var small: [[UInt8]] = []
        for number in 0..<8_000 {
            large.append([UInt8](repeating: 1, count: 32 << 10))
            small.append([UInt8](repeating: UInt8(truncatingIfNeeded: number), count: 64))
        }
        large = []
        let before = SpareMemory.bytes
        SpareMemory.giveBack()
        #expect(before - SpareMemory.bytes > 128 << 20)
        #expect(small.count == 8_000)
    }

    @Test func `code that only the start has used does not stay in memory`() {
        let before = SpareMemory.bytes
        SpareMemory.giveBackCode()
        #expect(before - SpareMemory.bytes > 1 << 20)
    }
}
