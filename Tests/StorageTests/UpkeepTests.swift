import CacheCore
import Glibc
import HTTPModel
import TestSupport
import Testing

@testable import Storage

@Suite struct `Store upkeep` {
    private let folder = TemporaryFolder()

    private func key(_ name: String) -> EntryKey {
        EntryKey(partition: .none, target: Target(unchecked: name))
    }

    @Test func `Temporary files and bodies that no row refers to are removed at start`() async throws {
        let store = try folder.open()
        let kept = try await store.makeContent([UInt8](repeating: 1, count: 50_000), for: .copy)
        let orphan = try await store.makeContent([UInt8](repeating: 2, count: 50_000), for: .copy)
        try await store.commit([.putCopy(key("/a"), sampleCopy(kept))], durable: true)
        await store.close()
        folder.put([1, 2, 3], "bodies/tmp/77")
        func name(_ content: Content) -> String {
            "bodies/\(content.digest.hex.prefix(2))/\(content.digest.hex)"
        }
        #expect(folder.has(name(orphan)))
        let again = try folder.open()
        await eventually { !folder.has(name(orphan)) }
        #expect(!folder.has("bodies/tmp/77"))
        #expect(try await again.bytes(of: kept, limit: 1 << 20).count == 50_000)
        await again.close()
    }

    @Test func `The log that a burst made long gives its room back`() async throws {
        let store = try folder.open()
        var burst: [StoreChange] = []
        for number in 0..<2_000 {
            let content = try await store.makeContent(
                (0..<4_000).map { UInt8(truncatingIfNeeded: number &+ $0) }, for: .copy)
            burst.append(.putCopy(key("/\(number)"), sampleCopy(content)))
        }
        try await store.commit(burst, durable: true)
        #expect(folder.size("holdfast.sqlite-wal") > SQLiteStore.logLimit)
        for _ in 0..<2 { try await store.commit([.expire(key("/1"))], durable: true) }
        #expect(folder.size("holdfast.sqlite-wal") <= SQLiteStore.logLimit)
        await store.close()
    }

    @Test func `What is older than the retention goes, unfinished operations and open conflicts stay`() async throws {
        let clock = ManualClock()
        let store = try SQLiteStore.open(folder: folder.path, clock: clock, log: SilentLog())
        var finished = sampleOperation(1, nil)
        finished.state = .delivered
        finished.finishedAt = clock.now
        let content = try await store.makeContent([1], for: .operation)
        let open = sampleConflict(content)
        var closed = open
        closed.id = "c2"
        closed.closedAt = clock.now
        let record = KeyRecord(
            partition: .none, key: "k", fingerprint: Digest(bytes: [1]), method: .post, target: Target(unchecked: "/a"),
            answer: nil, base: .unknown, at: clock.now)
        let waiting = sampleOperation(2, nil)
        try await store.commit(
            [
                .putOperation(finished), .putOperation(waiting), .putConflict(open), .putConflict(closed),
                .putKeyRecord(record),
            ], durable: true)
        func removeOld() async throws {
            try await store.write(.other { transaction in while try transaction.removeOld() {} }, durable: false)
        }
        clock.advance(by: 7 * 86_400 - 1)
        try await removeOld()
        #expect(try await store.operation(finished.id) != nil)
        #expect(try await store.keyRecord(partition: .none, key: "k") != nil)
        clock.advance(by: 2)
        try await removeOld()
        #expect(try await store.operation(finished.id) == nil)
        #expect(try await store.operation(partition: .none, key: finished.idempotencyKey) == nil)
        #expect(try await store.keyRecord(partition: .none, key: "k") == nil)
        #expect(try await store.conflict("c2") == nil)
        #expect(try await store.conflict("c1") != nil)
        #expect(try await store.operation(waiting.id) != nil)
        await store.close()
    }

    @Test func `What is too old goes a thousand rows a transaction, so that writes come between`() async throws {
        let clock = ManualClock()
        let store = try SQLiteStore.open(folder: folder.path, clock: clock, log: SilentLog())
        let receipts = (1...Int64(2_001)).map { number in
            var finished = sampleOperation(number, nil)
            finished.state = .delivered
            finished.finishedAt = clock.now
            return StoreChange.putOperation(finished)
        }
        try await store.commit(receipts, durable: false)
        // What the start looks through is done before the upkeep sleeps, or waits in front of this.
        await eventually { clock.sleeperCount > 0 }
        try await store.save()
        let before = store.transactionCount
        clock.advance(by: 7 * 86_400 + 1)
        try await eventually {
            try await store.operations(partitions: nil, states: [.delivered], after: nil, limit: 1).items.isEmpty
        }
        #expect(store.transactionCount - before >= 3)
        await store.close()
    }

    @Test func `Bodies without a row are removed a thousand a transaction, so that writes come between`() async throws {
        try await folder.open().close()
        mkdir(folder.path + "/bodies/00", 0o700)
        let names = (0..<3_001).map { number in
            let hex = String(0x1000 + number, radix: 16)
            return "bodies/00/" + String(repeating: "0", count: 64 - hex.count) + hex
        }
        for name in names { folder.put([1], name) }
        let store = try folder.open()
        await eventually { !names.contains { folder.has($0) } }
        // One lists them; two are of the upkeep that follows.
        #expect(store.transactionCount >= 5)
        await store.close()
    }

    /// The name of the body file of the parts. What holds the body here ends with this function.
    private func keepParts(in store: SQLiteStore) async throws -> String {
        let piece = try await store.makeContent([UInt8](repeating: 1, count: 50_000), for: .copy)
        let parts = PartialCopy(
            validator: "\"1\"", head: sampleCopy(.empty), length: 90_000,
            pieces: [.init(range: 0..<50_000, content: piece)])
        try await store.commit([.putParts(key("/a"), parts)], durable: true)
        return "bodies/\(piece.digest.hex.prefix(2))/\(piece.digest.hex)"
    }

    @Test(arguments: [true, false])
    func `The bodies of parts go with their entry, removed or evicted`(isEvicted: Bool) async throws {
        let store = try folder.open(StoreOptions(maxStoreSize: 200_000))
        let name = try await keepParts(in: store)
        #expect(folder.has(name))
        #expect(await store.usage().copies > 50_000)
        if isEvicted {
            let other = try await store.makeContent([UInt8](repeating: 2, count: 170_000), for: .copy)
            try await store.commit([.putCopy(key("/b"), sampleCopy(other))], durable: true)
        } else {
            try await store.commit([.removeEntry(key("/a"))], durable: true)
        }
        await eventually { !folder.has(name) }
        #expect(try await store.entry(key("/a")) == nil)
        await store.close()
    }

    @Test func `Pinned entries and those with unfinished operations are never evicted`() async throws {
        let store = try folder.open(StoreOptions(maxStoreSize: 100_000))
        func put(_ name: String) async throws {
            let content = try await store.makeContent(
                [UInt8](repeating: UInt8(name.utf8.count), count: 8_000), for: .copy)
            try await store.commit([.putCopy(key(name), sampleCopy(content))], durable: true)
        }
        try await put("/pinned")
        try await store.commit([.setPin(key("/pinned"), .normal)], durable: true)
        let operation = sampleOperation(1, nil)
        try await store.commit([.putOperation(operation)], durable: true)
        try await put(operation.lane.target.text)
        try await put("/old")
        for number in 0..<40 { try await put("/\(number)") }
        #expect(try await store.entry(key("/pinned"))?.copies.count == 1)
        #expect(try await store.entry(operation.lane)?.copies.count == 1)
        #expect(try await store.entry(key("/old")) == nil)
        await store.close()
    }

    @Test func `Every commit that touches an entry or its lane invalidates the view first`() async throws {
        let view = ShardedHitView(memoryLimit: 1 << 20)
        let store = try SQLiteStore.open(folder: folder.path, clock: ManualClock(), log: SilentLog(), view: view)
        let content = try await store.makeContent([1], for: .copy)
        let operation = sampleOperation(1, nil)
        let target = operation.lane.target.text
        let changes: [StoreChange] = [
            .putCopy(operation.lane, sampleCopy(content)), .expire(operation.lane),
            .expirePath(.none, path: target), .setPolicy(operation.lane, PolicyLayer()), .setPin(operation.lane, .high),
            .putOperation(operation), .removeEntry(operation.lane),
        ]
        for change in changes {
            view.offer(sampleHit("x"), target)
            #expect(await store.usage().viewBytes > 0)
            try await store.commit([change], durable: false)
            #expect(view.body(target) == nil)
            #expect(await store.usage().viewBytes == 0)
        }
        await store.close()
    }
}

@Suite struct `Hashes` {
    @Test(arguments: [
        ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
    ])
    func `SHA-256 has the digests of FIPS 180`(text: String, digest: String) {
        #expect(SHA256.digest(of: Array(text.utf8)).hex == digest)
        var pieces = SHA256()
        for byte in text.utf8 { pieces.update([byte]) }
        #expect(pieces.finish().hex == digest)
    }

    @Test func `HMAC-SHA-256 has the codes of RFC 4231`() {
        let one = HMACSHA256.code(of: Array("Hi There".utf8), key: [UInt8](repeating: 0x0B, count: 20))
        #expect(Digest(bytes: one).hex == "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7")
        let two = HMACSHA256.code(of: Array("what do ya want for nothing?".utf8), key: Array("Jefe".utf8))
        #expect(Digest(bytes: two).hex == "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843")
    }
}
