import API
import CacheCore
import HTTPModel
import TestSupport
import Testing

@Suite("Uploads")
struct UploadTests {
    let fixture = ManagementFixture()

    private func create(_ body: String = "", length: Int? = nil) async throws -> String {
        var fields: HTTPFields = ["Content-Type": "image/png"]
        fields["Upload-Length"] = length.map { String($0) }
        let reply = try await fixture.send(.post, "/cache/uploads", body, fields: fields)
        #expect(reply.status == 201)
        return try #require(reply.fields["Location"])
    }

    private func digest(_ text: String) -> String {
        let hash = PlainHash(.sha512)
        hash.update(Array(text.utf8))
        return "sha-512=:\(Base64.encode(hash.finish())):"
    }

    @Test("an upload begins with the body of its POST, and grows by PATCH at the offset")
    func grows() async throws {
        let path = try await create("ab", length: 4)
        #expect(try await fixture.send(.head, path).fields["Upload-Offset"] == "2")
        let reply = try await fixture.send(.patch, path, "cd", fields: ["Upload-Offset": "2"])
        #expect(reply.status == 204)
        #expect(reply.fields["Upload-Offset"] == "4")
        let shown = try await fixture.send(.get, path)
        #expect(shown.json["offset"]?.int == 4)
        #expect(shown.json["complete"]?.bool == true)
        let list = try await fixture.send(.get, "/cache/uploads?partition=*")
        #expect(list.json["items"]?.array?.count == 1)
    }

    @Test("an upload that the store can't hold by its length is refused at once, and leaves nothing")
    func tooLong() async throws {
        await #expect(throws: StoreError.tooLarge) {
            try await fixture.send(
                .post, "/cache/uploads", "ab", fields: ["Upload-Length": String(Int64(1 << 30) + 1)])
        }
        #expect(try await fixture.send(.get, "/cache/uploads?partition=*").json["items"]?.array?.isEmpty == true)
    }

    @Test("a part for which the store has no room is refused whole, and the upload stands where it stood")
    func noRoomForPart() async throws {
        let path = try await create("ab")
        fixture.writes.store.failure = .full
        await #expect(throws: StoreError.full) {
            try await fixture.send(.patch, path, "cd", fields: ["Upload-Offset": "2"])
        }
        #expect(try await fixture.send(.head, path).fields["Upload-Offset"] == "2")
    }

    @Test("a part for another offset is 409 with the present one")
    func elsewhere() async throws {
        let path = try await create("ab")
        let reply = try await fixture.send(.patch, path, "cd", fields: ["Upload-Offset": "1"])
        #expect(reply.problem?.code == .uploadOffset)
        #expect(reply.fields["Upload-Offset"] == "2")
        #expect(reply.json["offset"]?.int == 2)
    }

    @Test("a part without an offset, one that is no number and one beyond the length are 400")
    func malformed() async throws {
        let path = try await create("ab", length: 3)
        #expect(try await fixture.send(.patch, path, "c").status == 400)
        #expect(try await fixture.send(.patch, path, "c", fields: ["Upload-Offset": "+2"]).status == 400)
        #expect(try await fixture.send(.patch, path, "cd", fields: ["Upload-Offset": "2"]).status == 400)
        #expect(try await fixture.send(.head, path).fields["Upload-Offset"] == "2")
    }

    @Test("a part that is not what its Content-Digest says is taken back")
    func digested() async throws {
        let path = try await create("ab")
        let wrong = try await fixture.send(
            .patch, path, "cd", fields: ["Upload-Offset": "2", "Content-Digest": digest("ce")])
        #expect(wrong.problem?.code == .badRequest)
        #expect(try await fixture.send(.head, path).fields["Upload-Offset"] == "2")
        let right = try await fixture.send(
            .patch, path, "cd", fields: ["Upload-Offset": "2", "Content-Digest": digest("cd")])
        #expect(right.status == 204)
    }

    @Test("maxBodySize bounds an upload")
    func bounded() async throws {
        fixture.writes.settings.update { $0.maxBodySize = 3 }
        let path = try await create("ab")
        let reply = try await fixture.send(.patch, path, "cd", fields: ["Upload-Offset": "2"])
        #expect(reply.problem?.code == .tooLarge)
        let announced = try await fixture.send(.post, "/cache/uploads", fields: ["Upload-Length": "4"])
        #expect(announced.problem?.code == .tooLarge)
    }

    @Test("another partition's upload is not there without a full token")
    func partitions() async throws {
        let secret: HTTPFields = ["Authorization": "Basic x"]
        let reply = try await fixture.send(.post, "/cache/uploads", "ab", fields: secret)
        let path = try #require(reply.fields["Location"])
        #expect(try await fixture.send(.get, path, access: .readOnly).problem?.code == .notFound)
        #expect(try await fixture.send(.get, path, fields: secret, access: .readOnly).status == 200)
        let id = try #require(path.split(separator: "/").last)
        let write = try await fixture.writes.send(
            .put, "/a", fields: ["Upload": String(id), "Content-Type": "a/b"], route: .files)
        #expect(write.problem?.code == .notFound)
    }

    @Test("a write takes an upload as its body and uses it up")
    func used() async throws {
        fixture.writes.network.force(offline: true)
        let path = try await create("abcd")
        let id = try #require(path.split(separator: "/").last)
        let reply = try await fixture.writes.send(.put, "/a.png", fields: ["Upload": String(id)], route: .files)
        #expect(reply.status == 202)
        let operation = try #require(fixture.writes.queue.unfinished().first)
        #expect(operation.body?.inline == Array("abcd".utf8))
        #expect(operation.fields["Content-Type"] == "image/png")
        #expect(!operation.fields.contains("Upload"))
        #expect(try await fixture.send(.get, path).problem?.code == .notFound)
    }

    @Test("under an Idempotency-Key the upload stays for the repeat, and takes no more bytes")
    func repeated() async throws {
        fixture.writes.network.force(offline: true)
        let path = try await create("abcd")
        let id = try #require(path.split(separator: "/").last)
        let fields: HTTPFields = ["Upload": String(id), "Idempotency-Key": "k"]
        let first = try await fixture.writes.send(.put, "/a.png", fields: fields, route: .files)
        let second = try await fixture.writes.send(.put, "/a.png", fields: fields, route: .files)
        #expect(first.json["id"]?.string == second.json["id"]?.string)
        let more = try await fixture.send(.patch, path, "e", fields: ["Upload-Offset": "4"])
        #expect(more.problem?.code == .uploadSealed)
    }

    @Test("an incomplete upload, one that is refused and one with a body beside it are not used")
    func unused() async throws {
        let path = try await create("ab", length: 4)
        let id = try #require(path.split(separator: "/").last)
        let fields: HTTPFields = ["Upload": String(id)]
        let early = try await fixture.writes.send(.put, "/a", fields: fields, route: .files)
        #expect(early.problem?.code == .uploadIncomplete)
        #expect(early.fields["Upload-Offset"] == "2")
        _ = try await fixture.send(.patch, path, "cd", fields: ["Upload-Offset": "2"])
        #expect(try await fixture.writes.send(.put, "/a", "x", fields: fields, route: .files).status == 400)
        #expect(try await fixture.writes.send(.delete, "/a", fields: fields, route: .files).status == 400)
        fixture.writes.origin.then(403)
        #expect(try await fixture.writes.send(.put, "/a", fields: fields, route: .files).status == 403)
        fixture.writes.origin.then(201)
        #expect(try await fixture.writes.send(.put, "/a", fields: fields, route: .files).status == 201)
        #expect(fixture.writes.origin.received.map(\.body) == [Array("abcd".utf8), Array("abcd".utf8)])
        #expect(try await fixture.send(.delete, path).problem?.code == .notFound)
    }

    @Test("Repr-Digest of a write is compared with the upload")
    func reprDigest() async throws {
        let id = try #require(try await create("abcd").split(separator: "/").last)
        let wrong = try await fixture.writes.send(
            .put, "/a", fields: ["Upload": String(id), "Repr-Digest": digest("abce")], route: .files)
        #expect(wrong.problem?.code == .badRequest)
        #expect(fixture.writes.origin.received.isEmpty)
        fixture.writes.origin.then(201)
        let right = try await fixture.writes.send(
            .put, "/a", fields: ["Upload": String(id), "Repr-Digest": digest("abcd")], route: .files)
        #expect(right.status == 201)
    }
}
