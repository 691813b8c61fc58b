import CacheCore
import Glibc
import HTTPModel
import TestSupport
import Testing

@testable import Storage

@Suite struct `Named stores` {
    private let folder = TemporaryFolder()

    private func open(_ name: String, overwrites: Bool = false) throws -> SQLiteStore {
        try SQLiteStore.open(
            folder: folder.path, name: name, options: StoreOptions(overwritesIncompatible: overwrites),
            clock: ManualClock(), log: SilentLog())
    }

    /// What attaching one there is refused with.
    private func refusal(_ name: String, in place: String = "", overwrites: Bool) async -> StoreOpenError? {
        do throws(StoreOpenError) {
            let store = try await SQLiteStore.opening(
                folder: folder.path + place, name: name, options: StoreOptions(overwritesIncompatible: overwrites),
                clock: ManualClock(), log: SilentLog(), view: nil)
            await store.close()
            return nil
        } catch {
            return error
        }
    }

    private func isMisplaced(_ error: StoreOpenError?) -> Bool {
        if case .misplaced = error { true } else { false }
    }

    private func write(_ text: String, to name: String) {
        guard let file = fopen(folder.path + "/" + name, "w") else { return }
        fputs(text, file)
        fclose(file)
    }

    @Test func `Several stores lie in one folder, each with a partition key of its own`() async throws {
        let stores = [try open("one.sqlite"), try open("two.sqlite"), try folder.open()]
        #expect(Set(stores.map(\.partitionKey)).count == 3)
        for (number, store) in stores.enumerated() {
            let content = try await store.makeContent([UInt8](repeating: UInt8(number), count: 40_000), for: .copy)
            let key = EntryKey(partition: .none, target: Target(unchecked: "/a"))
            try await store.commit([.putCopy(key, sampleCopy(content))], durable: true)
        }
        for store in stores { await store.close() }
        let again = try open("two.sqlite")
        #expect(again.partitionKey == stores[1].partitionKey)
        let entry = try await again.entry(EntryKey(partition: .none, target: Target(unchecked: "/a")))
        let content = try #require(entry?.copies.first?.content)
        #expect(try await again.bytes(of: content, limit: 1 << 20).first == 1)
        await again.close()
    }

    @Test func `A file that is no store is refused and left alone, or overwritten on demand`() async throws {
        write("my notes", to: "notes.sqlite")
        #expect(throws: StoreOpenError.foreign) { try open("notes.sqlite") }
        #expect(FileSize.of(folder.path + "/notes.sqlite") == 8)
        let store = try open("notes.sqlite", overwrites: true)
        #expect(try await store.loadQueue().operations.isEmpty)
        await store.close()
    }

    @Test func `A damaged store of ours is salvaged, not taken for another's`() async throws {
        let store = try open("one.sqlite")
        await store.close()
        write("damaged", to: "one.sqlite")
        let again = try open("one.sqlite", overwrites: true)
        #expect(again.partitionKey == store.partitionKey)
        await again.close()
    }

    @Test(arguments: [false, true])
    func `No file beside a store is taken for a database, nor is it deleted`(overwrites: Bool) async throws {
        let stores = [try folder.open(), try open("one.sqlite"), try open("two.sqlite")]
        for store in stores {
            let content = try await store.makeContent([UInt8](repeating: 7, count: 100_000), for: .copy)
            let key = EntryKey(partition: .none, target: Target(unchecked: "/a"))
            try await store.commit([.putCopy(key, sampleCopy(content))], durable: true)
        }
        let names = Folder.names(folder.path).filter { !["holdfast.sqlite", "one.sqlite", "two.sqlite"].contains($0) }
        #expect(names.count > 10)
        let others = [
            "one.sqlite-journal", "lock", "LOCK", "seat.7", "one.sqlite.seat.0", "one.sqlite.suspect",
            "one.sqlite.salvage",
            "holdfast.sqlite.damaged.1", "copy", "opening", "delivery", "app", "partition.key.new", "HOLDFAST.sqlite",
        ]
        for name in names + others {
            #expect(isMisplaced(await refusal(name, overwrites: overwrites)), "\(name)")
        }
        for place in ["/bodies", "/one.sqlite.bodies/x", "/uploads/x/y"] {
            #expect(isMisplaced(await refusal("new.sqlite", in: place, overwrites: overwrites)), "\(place)")
        }
        #expect(Set(names).isSubset(of: Folder.names(folder.path)))
        for store in stores { await store.close() }
    }

    @Test(arguments: [false, true])
    func `A database is not opened under a second name, whichever leads to it`(overwrites: Bool) async throws {
        let store = try folder.open()
        let database = folder.path + "/holdfast.sqlite"
        #expect(symlink(database, folder.path + "/soft.sqlite") == 0)
        #expect(link(database, folder.path + "/hard.sqlite") == 0)
        #expect(mkdir(folder.path + "/elsewhere", 0o700) == 0)
        #expect(symlink(database, folder.path + "/elsewhere/holdfast.sqlite") == 0)
        for (name, place) in [("soft.sqlite", ""), ("hard.sqlite", ""), ("holdfast.sqlite", "/elsewhere")] {
            #expect(isMisplaced(await refusal(name, in: place, overwrites: overwrites)), "\(name)")
        }
        await store.close()
    }

    @Test func `Names that only remind of those files are taken`() async {
        for name in ["holdfast.app.sqlite", "locks", "seat", "notes.damaged", "wal", "my-lock"] {
            #expect(await refusal(name, overwrites: false) == nil)
        }
    }

    @Test func `A store is opened once at a time under each of its names`() async throws {
        let store = try open("one.sqlite")
        #expect(throws: StoreOpenError.inUse) { try open("one.sqlite") }
        let standard = try open("holdfast.sqlite")
        #expect(throws: StoreOpenError.inUse) { try folder.open() }
        await store.close()
        await standard.close()
    }
}

private enum FileSize {
    static func of(_ path: String) -> Int {
        var status = stat()
        return stat(path, &status) == 0 ? Int(status.st_size) : -1
    }
}
