import CacheCore
import Foundation
import HTTPModel
import Storage
import TestSupport
import Testing

@Suite struct `Mirrored store` {
    private let fixture = MirrorFixture()
    /// Longer than what lies in a row.
    private let long = String(repeating: "long ", count: 10_000)

    @Test(arguments: StoreContract.rules)
    func `A store in two locations keeps the rule of one`(rule: StoreRule) async throws {
        let store = try await fixture.app()
        try await rule.check(store)
        await store.close()
    }

    @Test(arguments: StoreContract.rules)
    func `An extension's store keeps the rule of one`(rule: StoreRule) async throws {
        let store = try await fixture.extension()
        try await rule.check(store)
        await store.close()
    }

    @Test func `An app's write is in both locations`() async throws {
        let app = try await fixture.app()
        try await fixture.put(long, at: "/a", in: app)
        await app.close()
        for side in [StoreSide.primary, .mirror] {
            let store = try fixture.side(side)
            #expect(try await fixture.text(at: "/a", in: store) == long)
            await store.close()
        }
    }

    @Test func `An extension reads and writes the mirror alone, and the app sees the newest of both`() async throws {
        let app = try await fixture.app()
        let helper = try await fixture.extension()
        try await fixture.put("one", at: "/a", in: app)
        #expect(try await fixture.text(at: "/a", in: helper) == "one")
        await helper.look()
        try await fixture.put("two", at: "/a", in: helper)
        #expect(try await fixture.text(at: "/a", in: app) == "two")
        await app.close()
        await helper.close()
        let primary = try fixture.side(.primary)
        #expect(try await fixture.text(at: "/a", in: primary) == "two")
        await primary.close()
    }

    @Test func `A removal is newer than what it removes`() async throws {
        let app = try await fixture.app()
        let helper = try await fixture.extension()
        try await fixture.put("one", at: "/a", in: app)
        await helper.look()
        try await helper.commit([.removeEntry(fixture.key("/a"))], durable: true)
        #expect(try await fixture.text(at: "/a", in: app) == nil)
        await app.close()
        await helper.close()
    }

    @Test func `Operations of both are kept, whatever their age`() async throws {
        let app = try await fixture.app()
        let helper = try await fixture.extension()
        let (one, two) = (
            app.sequence(after: 0, for: Target(unchecked: "/")), helper.sequence(after: 0, for: Target(unchecked: "/"))
        )
        #expect(one != two)
        try await app.commit([.putOperation(fixture.operation(one))], durable: true)
        try await helper.commit([.putOperation(fixture.operation(two))], durable: true)
        await app.look()
        await helper.look()
        for store in [app, helper] {
            #expect(try await store.loadQueue().operations.map(\.sequence) == [one, two].sorted())
            await store.close()
        }
    }

    @Test func `What another process has settled is not begun again`() async throws {
        let app = try await fixture.app()
        let helper = try await fixture.extension()
        try await app.commit([.putOperation(fixture.operation(16))], durable: true)
        await helper.look()
        _ = try await helper.loadQueue()
        try await helper.commit([.putOperation(fixture.operation(16, .cancelled))], durable: true)
        await #expect(throws: StoreError.outdated) {
            try await app.commit([.putOperation(fixture.operation(16, .sending))], durable: true)
        }
        await app.look()
        #expect(try await app.loadQueue().operations.isEmpty)
        await app.close()
        await helper.close()
    }

    @Test func `One process delivers, the app where it runs`() async throws {
        let target = Target(unchecked: "/")
        let helper = try await fixture.extension(delivers: true)
        let other = try await fixture.extension()
        #expect(helper.delivers(target))
        #expect(!other.delivers(target))
        let app = try await fixture.app()
        await helper.look()
        await helper.look()
        await app.look()
        #expect(app.delivers(target))
        #expect(!helper.delivers(target))
        await app.close()
        await helper.look()
        #expect(helper.delivers(target))
        await helper.close()
        await other.close()
    }

    @Test func `M01: after random writes both sides have the same`() async throws {
        let app = try await fixture.app()
        for round in 0..<2_000 {
            let target = "/items/\(Int.random(in: 0..<200))"
            if Int.random(in: 0..<4) == 0 {
                try await app.commit([.removeEntry(fixture.key(target))], durable: false)
            } else {
                try await fixture.put(round % 50 == 0 ? long + "\(round)" : "v\(round)", at: target, in: app)
            }
        }
        await app.close()
        let (primary, mirror) = (try fixture.side(.primary), try fixture.side(.mirror))
        let mine = try await primary.entries(EntryFilter(), after: nil, limit: 1_000).items
        let theirs = try await mirror.entries(EntryFilter(), after: nil, limit: 1_000).items
        #expect(!mine.isEmpty)
        #expect(mine == theirs)
        await primary.close()
        await mirror.close()
    }

    @Test func `M03 M07: a verification finds bodies that are missing or damaged, and copies them anew`() async throws {
        let app = try await fixture.app()
        try await fixture.put(long, at: "/a", in: app)
        try await fixture.put(long + "b", at: "/b", in: app)
        let digests = try await app.entries(EntryFilter(), after: nil, limit: 9).items.flatMap(\.copies).map(
            \.content.digest.hex)
        func path(_ folder: String, _ hex: String) -> String {
            "\(folder)/holdfast.shared.sqlite.bodies/\(hex.prefix(2))/\(hex)"
        }
        let missing = path(fixture.mirror.path + "/m", digests[0])
        let damaged = path(fixture.primary.path + "/p", digests[1])
        try FileManager.default.removeItem(atPath: missing)
        var bytes = try Data(contentsOf: URL(fileURLWithPath: damaged))
        bytes[7] ^= 1
        try FileManager.default.removeItem(atPath: damaged)
        try bytes.write(to: URL(fileURLWithPath: damaged))
        await app.compared()
        app.compare(verifying: true)
        await app.compared()
        #expect(app.status.copied == 2)
        #expect(FileManager.default.fileExists(atPath: missing))
        #expect(try await fixture.text(at: "/b", in: app) == long + "b")
        await app.close()
    }

    @Test func `M09: what is older than the mirror is copied into it`() async throws {
        let before = try fixture.side(.primary)
        for number in 0..<500 { try await fixture.put("v\(number)", at: "/\(number)", in: before) }
        try await before.commit([.putOperation(fixture.operation(1))], durable: true)
        await before.close()
        let app = try await fixture.app()
        await app.compared()
        #expect(app.status.done >= 500)
        #expect(app.status.copied == 500)
        await app.close()
        let mirror = try fixture.side(.mirror)
        #expect(await mirror.usage().entries == 500)
        #expect(try await mirror.loadQueue().operations.count == 1)
        await mirror.close()
    }

    @Test func `A mirror that is removed while running is told of, left out, and filled anew when it is back`()
        async throws
    {
        let app = try await fixture.app()
        try await fixture.put("one", at: "/a", in: app)
        try FileManager.default.removeItem(atPath: fixture.mirror.path + "/m")
        do {
            try await fixture.put("two", at: "/b", in: app)
            Issue.record("the write did not fail")
        } catch StoreError.mirrorFailed {}
        #expect(app.status.out == [.mirror])
        #expect(await app.usage().sidesOut == 1)
        #expect(try await fixture.text(at: "/b", in: app) == "two")
        // The store looks by itself too: a look that comes while another runs does nothing.
        let end = ContinuousClock.now + .seconds(30)
        while app.status.isBehind, ContinuousClock.now < end {
            fixture.clock.advance(by: 1)
            await app.look()
            await app.compared()
        }
        #expect(app.status.out == [])
        await app.close()
        let mirror = try fixture.side(.mirror)
        #expect(try await fixture.text(at: "/a", in: mirror) == "one")
        #expect(try await fixture.text(at: "/b", in: mirror) == "two")
        await mirror.close()
    }

    @Test func `A strict store answers no read from one side alone`() async throws {
        let app = try await fixture.app(isStrict: true)
        try await fixture.put("one", at: "/a", in: app)
        try FileManager.default.removeItem(atPath: fixture.mirror.path + "/m")
        await #expect(throws: StoreError.self) { try await fixture.text(at: "/a", in: app) }
        await app.close()
    }

    @Test func `A primary side that is lost comes back from the mirror`() async throws {
        let app = try await fixture.app()
        try await fixture.put(long, at: "/a", in: app)
        await app.close()
        try FileManager.default.removeItem(atPath: fixture.primary.path + "/p")
        let again = try await fixture.app()
        await again.compared()
        await again.close()
        let primary = try fixture.side(.primary)
        #expect(try await fixture.text(at: "/a", in: primary) == long)
        await primary.close()
    }
}
