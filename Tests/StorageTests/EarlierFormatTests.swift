import CacheCore
import Glibc
import HTTPModel
import TestSupport
import Testing

@testable import Storage

/// Data folders as earlier programs left them (Fixtures, made by Tests/Integration/store_fixture.py). No program that left version 5, 7,
/// 9 or 10 came out: those are made of the ones beside them (store_formats.py).
@Suite struct `Stores of earlier formats` {
    private static let formats = ["schema-1", "schema-1-members"] + (2...11).map { "schema-\($0)" }
    /// Those that hold a part and an upload, with the upload's id.
    private static let uploads = [
        "schema-3": "01M8P40QTK39M2ATYDXEGQT2DY", "schema-4": "01M8P40RJP43CEY6SDA2J0KJND",
        "schema-5": "01M8P4TX8D2MXJECPDDEG79KDC", "schema-6": "01M8P4TX8D2MXJECPDDEG79KDC",
        "schema-7": "01M8P4TX8D2MXJECPDDEG79KDC", "schema-8": "01M8PESMBC54MPFJQQHFWGGV4X",
        "schema-9": "01M8PV07PW7JP9XD1EM2KNQ749", "schema-10": "01M8PV07PW7JP9XD1EM2KNQ749",
        "schema-11": "01M8PV07PW7JP9XD1EM2KNQ749",
    ]
    private static let longBody = "3264f8f7ef6e437ec3d5b98ab730390a0195ee078b3983dcc9d5fc8dd593d47e"

    private func folder(_ format: String) -> TemporaryFolder {
        let folder = TemporaryFolder()
        for part in ["/bodies", "/bodies/32", "/uploads"] { mkdir(folder.path + part, 0o700) }
        let upload = Self.uploads[format].map { ["uploads/\($0)"] } ?? []
        for name in ["holdfast.sqlite", "partition.key", "bodies/32/\(Self.longBody)"] + upload {
            folder.write(repositoryFile("Tests/StorageTests/Fixtures/\(format)/\(name)"), to: name)
        }
        return folder
    }

    private func text(_ content: Content?, in store: SQLiteStore) async throws -> String {
        let content = try #require(content)
        return String(decoding: try await store.bytes(of: content, limit: 1 << 20), as: UTF8.self)
    }

    private func key(_ target: String) -> EntryKey { EntryKey(partition: .none, target: Target(unchecked: target)) }

    @Test func `Every format has a folder of its own`() throws {
        for format in Self.formats {
            let folder = folder(format)
            let connection = try Connection(path: folder.path + "/holdfast.sqlite", readOnly: true)
            let version = try #require(try connection.integer("PRAGMA user_version"))
            #expect(format.split(separator: "-")[1] == "\(version)")
        }
        #expect(Self.formats.last == "schema-\(Schema.version)")
    }

    @Test(arguments: formats) func `The queue is whole and in order`(format: String) async throws {
        let folder = folder(format)
        let store = try folder.open()
        let operations = try await store.loadQueue().operations
        try #require(operations.map(\.target.text) == ["/items/1", "/items", "/long"])
        #expect(operations.map(\.method) == [.put, .post, .put])
        #expect(operations.map(\.state) == [.pending, .pending, .pending])
        #expect(operations.map(\.idempotencyKey).prefix(2) == ["put", "post"])
        #expect(operations[0].base.etag != nil)
        #expect(try await text(operations[0].body, in: store).contains("edited"))
        #expect(operations[1].temporaryTarget?.text.hasPrefix("/items/hf-") == true)
        #expect(try await text(operations[2].body, in: store).utf8.count == 17_600)
        let finished = try #require(try await store.operation(partition: .none, key: "delivered"))
        #expect(finished.state == .delivered)
        #expect(finished.newTarget?.text == "/items/4")
        #expect(!folder.has("holdfast.sqlite.damaged.1"))
        await store.close()
    }

    @Test(arguments: formats) func `Entries and conflicts are there`(format: String) async throws {
        let folder = folder(format)
        let store = try folder.open()
        let copy = try #require(try await store.entry(key("/items/3"))?.copies.first)
        #expect(copy.fields["ETag"] != nil)
        #expect(try await text(copy.content, in: store).contains("read"))
        let conflict = try #require(try await store.loadQueue().conflicts.first)
        #expect(conflict.key == key("/items/2"))
        #expect(try await text(conflict.client.content, in: store).contains("refused"))
        #expect(try await text(conflict.server?.content, in: store).contains("moved on"))
        await store.close()
    }

    @Test(arguments: uploads) func `Parts and uploads go on where they were`(format: String, id: String) async throws {
        let folder = folder(format)
        let store = try folder.open()
        let parts = try #require(try await store.entry(key("/part"))?.parts.first)
        #expect(parts.length == 10 && parts.pieces.map(\.range) == [0..<5])
        #expect(try await text(parts.pieces[0].content, in: store) == "01234")
        #expect(try await store.upload(id)?.offset == 5)
        #expect(try await store.append(Array(", ended".utf8), to: id, at: 5) == .taken)
        #expect(try await text(try await store.seal(id), in: store) == "begun, ended")
        await store.close()
    }

    @Test(arguments: formats) func `What is changed is kept beside what is not`(format: String) async throws {
        let folder = folder(format)
        var store = try folder.open()
        var operation = try #require(try await store.loadQueue().operations.last)
        operation.attempts = 7
        try await store.commit([.putOperation(operation)], durable: true)
        await store.close()
        store = try folder.open()
        #expect(try await store.loadQueue().operations.map(\.attempts) == [0, 0, 7])
        #expect(try await text(operation.body, in: store).utf8.count == 17_600)
        await store.close()
    }

    @Test(arguments: formats) func `Changed rows count with the bytes that they have now`(format: String) async throws {
        let folder = folder(format)
        let store = try folder.open()
        var operations = try await store.loadQueue().operations
        try #require(!operations.isEmpty)
        for index in operations.indices { operations[index].attempts = 7 }
        operations[0].state = .cancelled
        operations[0].finishedAt = 4_000_000_000
        try await store.commit(operations.map { .putOperation($0) }, durable: true)
        let counted = await store.usage().operations
        try await store.write(
            .other { transaction in
                try Recount.run(transaction.connection, dropsUnreadable: false)
                #expect(try StoreStart.totals(transaction.connection).operations == counted)
            }, durable: true)
        await store.close()
    }

    /// Schema versions by the layout of records that came with them.
    private static let versions: [UInt8: Int] = [1: 1, 2: 4, 3: 9]

    @Test func `A program that does not know the layout of records leaves the database alone`() throws {
        #expect(Self.versions.keys.max() == RecordWriter.version)
        #expect(Schema.version >= (try #require(Self.versions[RecordWriter.version])))
    }
}
