import CacheCore
import Glibc
import HTTPModel
import TestSupport
import Testing

@testable import Storage

@Suite struct `Damaged stores` {
    private let folder = TemporaryFolder()

    private func key(_ number: Int) -> EntryKey {
        EntryKey(partition: .none, target: Target(unchecked: "/\(1_000 + number)"))
    }

    /// A closed store of 60 operations or entries whose rows take about three pages each.
    private func fill(operations: Bool) async throws -> [UInt8] {
        let store = try folder.open()
        for number in 1...60 {
            let bytes = [UInt8](repeating: UInt8(number), count: 12_000)
            let content = try await store.makeContent(bytes, for: .operation)
            try await store.commit(
                operations
                    ? [.putOperation(sampleOperation(Int64(number), content))]
                    : [.putCopy(key(number), sampleCopy(content))], durable: true)
        }
        let partitionKey = store.partitionKey
        await store.close()
        return partitionKey
    }

    private func refusal(of changes: [StoreChange], by store: SQLiteStore) async -> StoreError? {
        do throws(StoreError) {
            try await store.commit(changes, durable: true)
            return nil
        } catch {
            return error
        }
    }

    private func isUnreadable(_ key: EntryKey, in store: SQLiteStore) async -> Bool {
        do throws(StoreError) {
            _ = try await store.entry(key)
            return false
        } catch {
            return true
        }
    }

    @Test func `A database of a later format is refused and left as it is`() async throws {
        let store = try folder.open()
        try await store.write(.other { try $0.connection.execute("PRAGMA user_version = 99") }, durable: true)
        // As a crash leaves it: with a log that is not written back.
        let crashed = TemporaryFolder()
        let names = ["holdfast.sqlite", "holdfast.sqlite-wal"]
        for name in names { crashed.take(name, from: folder) }
        await store.close()
        let before = names.map { crashed.bytes($0) }
        #expect(throws: StoreOpenError.newerVersion(99)) { try crashed.open() }
        #expect(names.map { crashed.bytes($0) } == before)
        #expect(!crashed.has("holdfast.sqlite.damaged.1"))
    }

    @Test(arguments: [
        ("copies", Int64.max), ("operations", .min), ("entries", .max), ("entries", 1 << 40), ("entries", -1 << 40),
        ("last_sequence", .max),
    ])
    func `A total that can't be true does not end the start`(column: String, value: Int64) async throws {
        let store = try folder.open()
        let copy = sampleCopy(try await store.makeContent([1, 2, 3], for: .copy))
        try await store.commit([.putCopy(key(1), copy), .putOperation(sampleOperation(7, nil))], durable: true)
        let before = await store.usage()
        await store.close()
        try Connection(path: folder.path + "/holdfast.sqlite").execute("UPDATE totals SET \(column) = \(value)")
        let again = try folder.open()
        let usage = await again.usage()
        #expect([usage.copies, usage.operations] == [before.copies, before.operations])
        #expect((0...1).contains(usage.entries))
        #expect(try await again.loadQueue().lastSequence == 7)
        #expect(try await again.entry(key(1))?.copies == [copy])
        await again.close()
    }

    @Test(arguments: ["conflicts", "key_records", "entries"])
    func `A record that can't be read leaves no read open, which would hold the log`(table: String) async throws {
        let store = try folder.open()
        let record = KeyRecord(
            partition: .none, key: "k", fingerprint: Digest(bytes: [1]), method: .post, target: Target(unchecked: "/a"),
            answer: nil, base: .unknown, at: ManualClock().now)
        try await store.commit(
            [.putConflict(sampleConflict(.empty)), .putKeyRecord(record), .putCopy(key(1), sampleCopy(.empty))],
            durable: true)
        try await store.write(.other { try $0.connection.run("UPDATE \(table) SET record = x'FF'") }, durable: true)
        await #expect(throws: StoreError.self) {
            try await store.write(
                .other { transaction in
                    switch table {
                    case "conflicts": try transaction.removeConflict("c1")
                    case "key_records": try transaction.removeKeyRecord(.none, "k")
                    default:
                        // Under other policies than these.
                        try transaction.connection.run("INSERT OR REPLACE INTO meta VALUES('eviction_rules', x'01')")
                        _ = try transaction.reviseEvictable(after: nil)
                    }
                }, durable: true)
        }
        let looker = try Connection(path: folder.path + "/holdfast.sqlite")
        #expect(try looker.integer("PRAGMA wal_checkpoint(TRUNCATE)") == 0)
        await store.close()
    }

    @Test func `A database from before there were parts opens with all that it holds`() async throws {
        let key = EntryKey(partition: .none, target: Target(unchecked: "/a"))
        let store = try folder.open()
        let copy = sampleCopy(try await store.makeContent([1, 2, 3], for: .copy))
        try await store.commit([.putCopy(key, copy)], durable: true)
        // Entries without parts are written as they were then.
        try await store.write(
            .other { transaction in
                for table in ["unsaved", "incoming", "actions", "sending"] {
                    try transaction.connection.execute("DROP TABLE \(table)")
                }
                try transaction.connection.execute("PRAGMA user_version = 2")
            }, durable: true)
        await store.close()
        let again = try folder.open()
        #expect(try await again.entry(key)?.copies == [copy])
        try await again.write(
            .other { transaction in
                let version = try transaction.connection.integer("PRAGMA user_version")
                #expect(version == Int64(Schema.version))
            }, durable: true)
        await again.close()
    }

    @Test func `Operations beside damaged pages survive, and so does the partition key`() async throws {
        let partitionKey = try await fill(operations: true)
        folder.damage("holdfast.sqlite", pages: 120..<124)
        let again = try folder.open()
        let kept = try await again.loadQueue().operations
        #expect(kept.count > 40 && kept.count < 60)
        for operation in kept {
            let body = try #require(operation.body)
            let bytes = try await again.bytes(of: body, limit: 1 << 20)
            #expect(bytes == [UInt8](repeating: UInt8(operation.sequence), count: 12_000))
        }
        #expect(again.partitionKey == partitionKey)
        try await again.commit([.putOperation(sampleOperation(99, nil))], durable: true)
        await again.close()
        #expect(folder.has("holdfast.sqlite.damaged.1"))
    }

    @Test func `The partition key survives the loss of the whole database`() async throws {
        let store = try folder.open()
        await store.close()
        #expect(folder.mode("partition.key") == 0o400)
        folder.overwriteHeader()
        let again = try folder.open()
        #expect(again.partitionKey == store.partitionKey)
        await again.close()
    }

    @Test func `No damaged database overwrites an earlier one`() async throws {
        for number in 1...3 {
            let store = try folder.open()
            await store.close()
            folder.overwriteHeader()
            try await folder.open().close()
            #expect(folder.has("holdfast.sqlite.damaged.\(number)"))
        }
    }

    @Test func `Damage found while it runs is salvaged at the next start`() async throws {
        _ = try await fill(operations: false)
        folder.damage("holdfast.sqlite", pages: 120..<124)
        let store = try folder.open()
        var failures = 0
        for number in 1...60 {
            if await isUnreadable(key(number), in: store) { failures += 1 }
        }
        #expect(failures > 0)
        #expect(folder.has("holdfast.sqlite.suspect"))
        await store.close()
        let again = try folder.open()
        var kept = 0
        for number in 1...60 {
            if try await again.entry(key(number)) != nil { kept += 1 }
        }
        #expect(kept > 40)
        #expect(await again.usage().entries == Int64(kept))
        #expect(!folder.has("holdfast.sqlite.suspect"))
        #expect(folder.has("holdfast.sqlite.damaged.1"))
        await again.close()
    }

    @Test func `A salvage that ended between its renames is finished`() async throws {
        _ = try await fill(operations: true)
        #expect(!folder.has("holdfast.sqlite-wal"))
        folder.rename("holdfast.sqlite", "holdfast.sqlite.salvage")
        let again = try folder.open()
        #expect(try await again.loadQueue().operations.count == 60)
        await again.close()
    }

    @Test func `A store whose disk was full takes writes again when there is room`() async throws {
        let store = try folder.open()
        let content = try await store.makeContent([UInt8](repeating: 7, count: 16_000), for: .operation)
        try await store.write(.other { try $0.connection.execute("PRAGMA max_page_count = 40") }, durable: true)
        var refused: StoreError?
        var number: Int64 = 0
        while refused == nil, number < 100 {
            number += 1
            refused = await self.refusal(of: [.putOperation(sampleOperation(number, content))], by: store)
        }
        #expect(refused == .full)
        let accepted = try await store.loadQueue().operations.count
        #expect(accepted == Int(number) - 1)
        try await store.write(.other { try $0.connection.execute("PRAGMA max_page_count = 10000") }, durable: false)
        try await store.commit([.putOperation(sampleOperation(number, content))], durable: true)
        await store.close()
        let again = try folder.open()
        #expect(try await again.loadQueue().operations.count == Int(number))
        await again.close()
    }

    @Test func `What becomes of an operation is recorded in a full store, and no growth is`() async throws {
        let store = try folder.open(StoreOptions(maxStoreSize: 95_000))
        let answer = try await store.makeContent([UInt8](repeating: 8, count: 10_000), for: .operation)
        let content = try await store.makeContent([UInt8](repeating: 7, count: 90_000), for: .operation)
        let other = try await store.makeContent([UInt8](repeating: 6, count: 90_000), for: .operation)
        var operation = sampleOperation(1, content)
        operation.lastAnswer = nil
        operation.state = .sending
        try await store.commit([.putOperation(operation)], durable: true)
        #expect(await refusal(of: [.putOperation(sampleOperation(2, other))], by: store) == .full)
        operation.lastAnswer = KeptAnswer(status: 400, fields: [:], content: answer)
        operation.state = .failed
        #expect(await refusal(of: [.putOperation(operation)], by: store) == nil)
        var larger = operation
        larger.fields["X-Long"] = String(repeating: "x", count: 1_000)
        larger.lastAnswer?.content = other
        #expect(await refusal(of: [.putOperation(larger)], by: store) == .full)
        larger.lastAnswer = operation.lastAnswer
        larger.state = .sending
        #expect(await refusal(of: [.putOperation(larger)], by: store) == nil)
        await store.close()
    }

    @Test func `A body file whose bytes changed is set aside, and stored anew is whole`() async throws {
        let bytes = [UInt8](repeating: 5, count: 100_000)
        let store = try folder.open()
        let content = try await store.makeContent(bytes, for: .copy)
        try await store.commit([.putCopy(key(1), sampleCopy(content))], durable: true)
        await store.close()
        let name = "bodies/\(content.digest.hex.prefix(2))/\(content.digest.hex)"
        folder.damage(name, pages: 3..<4)
        let again = try folder.open()
        let refusal = await #expect(throws: StoreError.self) { try await again.bytes(of: content, limit: 1 << 20) }
        #expect(refusal == .corrupt(reason: "a body file has other bytes than were stored"))
        #expect(!folder.has(name))
        #expect(folder.has("bodies/quarantine/\(content.digest.hex)"))
        let fresh = try await again.makeContent(bytes, for: .copy)
        try await again.commit([.putCopy(key(1), sampleCopy(fresh))], durable: true)
        #expect(try await again.bytes(of: content, limit: 1 << 20) == bytes)
        await again.close()
    }
}

extension TemporaryFolder {
    func has(_ name: String) -> Bool { access(path + "/" + name, F_OK) == 0 }

    func mode(_ name: String) -> mode_t {
        var status = stat()
        stat(path + "/" + name, &status)
        return status.st_mode & 0o777
    }

    func remove(_ name: String) { unlink(path + "/" + name) }

    func rename(_ name: String, _ other: String) { Glibc.rename(path + "/" + name, path + "/" + other) }

    func bytes(_ name: String) -> [UInt8] {
        guard let file = fopen(path + "/" + name, "r") else { return [] }
        defer { fclose(file) }
        var bytes: [UInt8] = []
        var byte = fgetc(file)
        while byte != EOF {
            bytes.append(UInt8(byte))
            byte = fgetc(file)
        }
        return bytes
    }

    func put(_ bytes: [UInt8], _ name: String) {
        guard let file = fopen(path + "/" + name, "w") else { return }
        fwrite(bytes, 1, bytes.count, file)
        fclose(file)
    }

    /// Overwrites pages of 4 KiB, counted from 0.
    func damage(_ name: String, pages: Range<Int>) {
        chmod(path + "/" + name, 0o600)
        guard let file = fopen(path + "/" + name, "r+") else { return }
        fseek(file, pages.lowerBound * 4_096, SEEK_SET)
        for _ in 0..<pages.count * 4_096 { fputc(0xEE, file) }
        fclose(file)
    }
}
