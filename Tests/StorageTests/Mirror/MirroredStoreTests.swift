import CacheCore
import Foundation
import HTTPModel
import TestSupport
import Testing

@testable import Storage

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

    @Test func `Operations that got one sequence while both locations were apart are all kept, in one order`()
        async throws
    {
        let app = try await fixture.app()
        await app.close()
        for (side, ids) in [(StoreSide.primary, ["b", "d"]), (.mirror, ["c", "a"])] {
            let store = try fixture.side(side)
            for (sequence, id) in zip([Int64(16), 32], ids) {
                try await store.commit([.putOperation(fixture.operation(sequence, id: id))], durable: true)
            }
            await store.close()
        }
        let order = ["b", "c", "a", "d"]
        let again = try await fixture.app()
        #expect(try await again.loadQueue().operations.map(\.id.text) == order)
        // Each keeps its own row through its changes.
        try await again.commit([.putOperation(fixture.operation(32, .sending, id: "a"))], durable: true)
        try await again.commit([.putOperation(fixture.operation(16, .cancelled, id: "b"))], durable: true)
        await again.close()
        for side in [StoreSide.primary, .mirror] {
            let store = try fixture.side(side)
            #expect(try await store.loadQueue().operations.map(\.id.text) == ["c", "a", "d"])
            #expect(try await store.operation(OperationID("a"))?.state == .sending)
            #expect(try await store.operation(OperationID("b"))?.state == .cancelled)
            await store.close()
        }
    }

    @Test(arguments: [StoreSide.primary, .mirror])
    func `A failure to open names the location`(side: StoreSide) async throws {
        let folder = side == .primary ? fixture.primary.path + "/p" : fixture.mirror.path + "/m"
        try Data("in the way".utf8).write(to: URL(fileURLWithPath: folder))
        do {
            _ = try await fixture.app(isStrict: true)
            Issue.record("it was opened")
        } catch StoreOpenError.side(let named, _) {
            #expect(named == side)
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
        let found = try await app.compare(byDigest: true)
        #expect(found.copied == 2)
        #expect(found.damaged == 0)
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
        await eventually {
            if !app.status.isBehind { return true }
            fixture.clock.advance(by: 1)
            await app.look()
            await app.compared()
            return false
        }
        #expect(app.status.out == [])
        await app.close()
        let mirror = try fixture.side(.mirror)
        #expect(try await fixture.text(at: "/a", in: mirror) == "one")
        #expect(try await fixture.text(at: "/b", in: mirror) == "two")
        await mirror.close()
    }

    @Test func `Writes that a mirror misses don't keep it away`() async throws {
        let app = try await fixture.app()
        let folder = fixture.mirror.path + "/m"
        try FileManager.default.moveItem(atPath: folder, toPath: folder + ".away")
        try Data("in the way".utf8).write(to: URL(fileURLWithPath: folder))
        func write(_ text: String) async throws {
            do { try await fixture.put(text, at: "/a", in: app) } catch StoreError.mirrorFailed {}
            fixture.clock.advance(by: 0.3)
            await app.look()
        }
        for round in 0..<20 { try await write("\(round)") }
        #expect(app.status.out == [.mirror])
        try FileManager.default.removeItem(atPath: folder)
        try await eventually {
            if app.status.out != [.mirror] { return true }
            try await write("again")
            return false
        }
        #expect(app.status.out == [])
        await app.close()
    }

    @Test func `Bytes in a row that are not those that were stored are mended from the other side`() async throws {
        let app = try await fixture.app()
        try await fixture.put("a note of milk", at: "/a", in: app)
        await app.close()
        let damaged = try fixture.side(.mirror)
        try await damaged.write(
            .other { transaction in
                try transaction.connection.run(
                    "UPDATE entries SET record = CAST(replace(CAST(record AS TEXT), 'milk', 'silk') AS BLOB)")
            }, durable: true)
        #expect(try await fixture.text(at: "/a", in: damaged) == "a note of silk")
        await damaged.close()
        let again = try await fixture.app()
        #expect(try await again.compare(byDigest: true).copied == 1)
        await again.close()
        for side in [StoreSide.primary, .mirror] {
            let store = try fixture.side(side)
            #expect(try await fixture.text(at: "/a", in: store) == "a note of milk")
            await store.close()
        }
    }

    @Test func `A body that is damaged on both sides is counted, and keeps nothing else from being copied`()
        async throws
    {
        let app = try await fixture.app()
        try await fixture.put(long, at: "/a", in: app)
        await app.compared()
        for folder in [fixture.primary.path + "/p", fixture.mirror.path + "/m"] {
            for file in FileManager.default.subpaths(atPath: folder) ?? [] where file.contains(".bodies/") {
                var isFolder = ObjCBool(false)
                let path = folder + "/" + file
                guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder), !isFolder.boolValue else {
                    continue
                }
                try FileManager.default.removeItem(atPath: path)
                try Data("other bytes".utf8).write(to: URL(fileURLWithPath: path))
            }
        }
        try await fixture.put("b", at: "/b", in: app)
        let found = try await app.compare(byDigest: true)
        #expect(found.damaged == 1)
        #expect(found.failures == 0)
        #expect(try await fixture.text(at: "/b", in: app) == "b")
        await app.close()
    }

    @Test func `A body that no row refers to goes from a mirror too, after a while`() async throws {
        let app = try await fixture.app(orphanRetention: 0)
        try await fixture.put(long, at: "/a", in: app)
        let folder = fixture.mirror.path + "/m/holdfast.shared.sqlite.bodies/"
        let orphan = folder + "00/00" + String(repeating: "ab", count: 31)
        try FileManager.default.createDirectory(atPath: folder + "00", withIntermediateDirectories: true)
        try Data("left by another process".utf8).write(to: URL(fileURLWithPath: orphan))
        try await eventually {
            if !FileManager.default.fileExists(atPath: orphan) { return true }
            fixture.clock.advance(by: 600)
            // Behind the upkeep that this begins: more of it than the writers can do would leave no room for what comes then.
            try await fixture.put("b", at: "/b", in: app)
            return false
        }
        #expect(try await app.compare(byDigest: true).copied == 0)
        await app.close()
    }

    @Test func `A mirror that another process finds damaged is let go of, and salvaged by who is alone with it`()
        async throws
    {
        let app = try await fixture.app()
        let helper = try await fixture.extension()
        try await fixture.put("one", at: "/a", in: app)
        let files = DatabaseFiles(folder: fixture.mirror.path + "/m", name: "holdfast.shared.sqlite")
        #expect(files.mark())
        await eventually {
            if !files.isMarked, app.status.out.isEmpty, helper.status.out.isEmpty { return true }
            fixture.clock.advance(by: 1)
            await app.look()
            await helper.look()
            return false
        }
        #expect(!files.isMarked)
        #expect(app.status.failures == 1)
        #expect(try await fixture.text(at: "/a", in: app) == "one")
        #expect(try await fixture.text(at: "/a", in: helper) == "one")
        await app.close()
        await helper.close()
    }

    @Test func `The primary location moves while the store runs`() async throws {
        let app = try await fixture.app()
        for number in 0..<300 { try await fixture.put("v\(number)", at: "/\(number)", in: app) }
        try await fixture.put(long, at: "/long", in: app)
        try await app.commit([.putOperation(fixture.operation(16))], durable: true)
        let move = try await app.beginMove(to: fixture.primary.path + "/q")
        try await fixture.put("meanwhile", at: "/1", in: app)
        try await app.commit([.putOperation(fixture.operation(32))], durable: true)
        try await app.settle(move) {}
        try await fixture.put("later", at: "/2", in: app)
        await app.end(move)
        await app.compared()
        #expect(app.status.failures == 0)
        #expect(!FileManager.default.fileExists(atPath: fixture.primary.path + "/p"))
        await app.close()
        let moved = try SQLiteStore.open(
            folder: fixture.primary.path + "/q", name: "holdfast.shared.sqlite", clock: fixture.clock, log: SilentLog())
        #expect(try await moved.loadQueue().operations.map(\.sequence) == [16, 32])
        for (target, text) in [("/0", "v0"), ("/1", "meanwhile"), ("/2", "later"), ("/long", long)] {
            #expect(try await fixture.text(at: target, in: moved) == text)
        }
        await moved.close()
    }

    @Test func `A store does not move over another one`() async throws {
        let app = try await fixture.app()
        let other = try SQLiteStore.open(
            folder: fixture.primary.path + "/q", name: "holdfast.shared.sqlite", clock: fixture.clock, log: SilentLog())
        await other.close()
        await #expect(throws: StoreOpenError.self) { _ = try await app.beginMove(to: fixture.primary.path + "/q") }
        await #expect(throws: StoreOpenError.self) { _ = try await app.beginMove(to: fixture.mirror.path + "/m") }
        try await fixture.put("one", at: "/a", in: app)
        #expect(try await fixture.text(at: "/a", in: app) == "one")
        await app.close()
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
