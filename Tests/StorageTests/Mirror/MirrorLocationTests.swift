import CacheCore
import Foundation
import Testing

@testable import Storage

@Suite struct `Locations of a mirrored store` {
    private let fixture = MirrorFixture()
    private let ann = PartitionID(high: 1, low: 2)
    private var elsewhere: String { fixture.primary.path + "/q" }

    private func open(_ folder: String) throws -> SQLiteStore {
        try SQLiteStore.open(
            folder: folder, name: "holdfast.shared.sqlite", clock: fixture.clock, log: SilentLog())
    }

    // MARK: Filled apart

    /// Gives both locations an entry, and that of the sides one of an identity.
    private func fill(withIdentitiesIn sides: [StoreSide]) async throws -> [[UInt8]] {
        var keys: [[UInt8]] = []
        for side in [StoreSide.primary, .mirror] {
            let store = try fixture.side(side)
            keys.append(store.partitionKey)
            try await fixture.put("of \(side)", at: "/\(side)", in: store)
            if sides.contains(side) {
                let own = EntryKey(partition: ann, target: Target(unchecked: "/own"))
                try await store.commit([.setPin(own, .high)], durable: true)
            }
            await store.close()
        }
        return keys
    }

    @Test(arguments: [[], [StoreSide.primary], [.mirror]])
    func `Those that were filled apart are paired where one of them has nothing of an identity`(
        _ sides: [StoreSide]
    ) async throws {
        let keys = try await fill(withIdentitiesIn: sides)
        for _ in 0..<2 {
            let app = try await fixture.app()
            await app.compared()
            #expect(app.partitionKey == keys[sides == [.primary] ? 0 : 1])
            #expect(app.status.out.isEmpty)
            await app.close()
        }
        for side in [StoreSide.primary, .mirror] {
            let store = try fixture.side(side)
            #expect(try await fixture.text(at: "/primary", in: store) == "of primary")
            #expect(try await fixture.text(at: "/mirror", in: store) == "of mirror")
            #expect(try await store.partitions().map(\.id) == (sides.isEmpty ? [.none] : [.none, ann]))
            await store.close()
        }
    }

    @Test func `Those that both have data of identities are not paired, and stay as they are`() async throws {
        let keys = try await fill(withIdentitiesIn: [.primary, .mirror])
        let error = await #expect(throws: StoreOpenError.self) { _ = try await fixture.app() }
        guard case .side(.mirror, _)? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        for (side, key) in zip([StoreSide.primary, .mirror], keys) {
            let store = try fixture.side(side)
            #expect(store.partitionKey == key)
            await store.close()
        }
    }

    @Test func `A mirror that another process works with keeps its key`() async throws {
        _ = try await fill(withIdentitiesIn: [.primary])
        let helper = try await fixture.extension()
        await #expect(throws: StoreOpenError.self) { _ = try await fixture.app() }
        #expect(try await fixture.text(at: "/mirror", in: helper) == "of mirror")
        await helper.close()
    }

    // MARK: Moves that are cut short

    /// Leaves the files as they are, and nobody has them open any more.
    private func cutShort(_ move: MirroredStore.Move) async { await move.new.close() }

    @Test func `A move that was cut short is begun anew`() async throws {
        let app = try await fixture.app()
        try await fixture.put("first", at: "/a", in: app)
        await cutShort(try await app.beginMove(to: elsewhere))
        try await fixture.put("later", at: "/a", in: app)
        let move = try await app.beginMove(to: elsewhere)
        try await app.settle(move) {}
        await app.end(move)
        await app.close()
        let moved = try open(elsewhere)
        #expect(try await fixture.text(at: "/a", in: moved) == "later")
        await moved.close()
    }

    @Test func `A store that was opened where a move was cut short is no longer a copy`() async throws {
        let app = try await fixture.app()
        await cutShort(try await app.beginMove(to: elsewhere))
        let other = try open(elsewhere)
        try await fixture.put("kept", at: "/other", in: other)
        await other.close()
        await #expect(throws: StoreOpenError.self) { _ = try await app.beginMove(to: elsewhere) }
        await app.close()
        let again = try open(elsewhere)
        #expect(try await fixture.text(at: "/other", in: again) == "kept")
        await again.close()
    }

    @Test func `The former location can be moved to although its files were left there`() async throws {
        let app = try await fixture.app()
        try await fixture.put("one", at: "/a", in: app)
        let move = try await app.beginMove(to: elsewhere)
        try await app.settle(move) {}
        await move.old.close()
        try await fixture.put("two", at: "/a", in: app)
        let back = try await app.beginMove(to: fixture.primary.path + "/p")
        try await app.settle(back) {}
        await app.end(back)
        await app.close()
        let primary = try fixture.side(.primary)
        #expect(try await fixture.text(at: "/a", in: primary) == "two")
        await primary.close()
    }

    @Test func `A move that can't be noted changes nothing`() async throws {
        let app = try await fixture.app()
        try await fixture.put("one", at: "/a", in: app)
        let move = try await app.beginMove(to: elsewhere)
        await #expect(throws: StoreError.full) { try await app.settle(move) { throw StoreError.full } }
        #expect(!FileManager.default.fileExists(atPath: elsewhere))
        try await fixture.put("two", at: "/a", in: app)
        #expect(try await fixture.text(at: "/a", in: app) == "two")
        await app.close()
    }
}
