import CacheCore
import HTTPModel
import TestSupport
import Testing

@testable import Storage

/// What is known of entries without asking the database.
@Suite struct `Known entries` {
    private func key(_ number: Int) -> EntryKey {
        EntryKey(partition: .none, target: Target(unchecked: "/\(number)"))
    }

    @Test func `Nothing counts as absent before all keys were given`() {
        let known = KnownEntries()
        known.prepare(entries: 1)
        #expect(known.look(up: key(1)) == .unknown)
        known.fill([key(2)])
        known.finishFilling(isComplete: true)
        #expect(known.look(up: key(1)) == .absent)
        #expect(known.look(up: key(2)) == .unknown)
    }

    @Test func `Where the keys could not be read nothing ever counts as absent`() {
        let known = KnownEntries()
        known.prepare(entries: 1)
        known.finishFilling(isComplete: false)
        #expect(known.look(up: key(1)) == .unknown)
    }

    @Test func `A key that is added while others are filled in is known`() {
        let known = KnownEntries()
        known.prepare(entries: 1)
        known.add(key(7))
        known.fill([key(2)])
        known.finishFilling(isComplete: true)
        #expect(known.look(up: key(7)) == .unknown)
    }

    @Test func `A full one asks for a new one once, and every key stays known`() {
        let known = KnownEntries()
        known.prepare(entries: 0)
        known.finishFilling(isComplete: true)
        for number in 0..<70_000 { known.add(key(number)) }
        #expect(known.look(up: key(1)) == .outgrown)
        #expect(known.look(up: key(1)) == .unknown)
        known.fill((0..<70_000).map(key))
        known.finishFilling(isComplete: true)
        #expect((0..<70_000).allSatisfy { known.look(up: key($0)) == .unknown })
        let wrong = (70_000..<80_000).count { known.look(up: key($0)) != .absent }
        #expect(wrong < 100)
    }

    @Test func `Entries are found from the first moment of a start, and new ones at once`() async throws {
        let folder = TemporaryFolder()
        let store = try folder.open()
        let content = try await store.makeContent([1], for: .copy)
        for first in stride(from: 0, to: 12_000, by: 1_000) {
            let changes = (first..<(first + 1_000)).map { StoreChange.putCopy(key($0), sampleCopy(content)) }
            try await store.commit(changes, durable: false)
        }
        await store.close()
        let again = try folder.open()
        for number in stride(from: 0, to: 12_000, by: 97) { #expect(try await again.entry(key(number)) != nil) }
        try await again.commit([.putCopy(key(-1), sampleCopy(content))], durable: false)
        #expect(try await again.entry(key(-1)) != nil)
        #expect(try await again.entry(key(-2)) == nil)
        await again.close()
    }
}
