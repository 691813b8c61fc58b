import API
import CacheCore
import HTTPModel
import TestSupport
import Testing

@Suite("Digests of what is sent")
struct DigestWriteTests {
    let fixture = WriteFixture()

    private func digest(_ text: String, _ algorithm: HashAlgorithm) -> String {
        let hash = PlainHash(algorithm)
        hash.update(Array(text.utf8))
        return "\(algorithm.rawValue)=:\(Base64.encode(hash.finish())):"
    }

    @Test("a body passes with its own digest and is 400 with another", arguments: HashAlgorithm.allCases, [2, 70_000])
    func compared(algorithm: HashAlgorithm, length: Int) async throws {
        let body = String(repeating: "1", count: length)
        for name in ["Repr-Digest", "Content-Digest"] {
            let wrong = try await fixture.send(.put, "/items/1", body, fields: [name: digest(body + "2", algorithm)])
            #expect(wrong.problem?.code == .badRequest)
        }
        #expect(fixture.origin.received.isEmpty)
        fixture.origin.then(201)
        let right = try await fixture.send(
            .put, "/items/1", body,
            fields: [
                "Repr-Digest": digest(body, algorithm), "Content-Digest": "md5=:AAAA:, \(digest(body, algorithm))",
            ])
        #expect(right.status == 201)
        #expect(fixture.origin.received.first?.body.count == length)
    }

    @Test("a body that is streamed to the origin never arrives whole where its digest is wrong")
    func streamed() async throws {
        let body = String(repeating: "1", count: 70_000)
        let wrong = try await fixture.send(
            .put, "/items/1", body, fields: ["Content-Digest": digest("x", .sha256)], policy: { $0.noCache = true })
        #expect(wrong.problem?.code == .badRequest)
        #expect(fixture.origin.received.isEmpty)
        fixture.origin.then(201)
        let right = try await fixture.send(
            .put, "/items/1", body, fields: ["Content-Digest": digest(body, .sha256)], policy: { $0.noCache = true })
        #expect(right.status == 201)
        #expect(fixture.origin.received.first?.body == Array(body.utf8))
    }

    @Test("a digest that can't be read is 400", arguments: ["sha-256=1", "sha-256=:AAAA:", "sha-512=:AAAA:", "=="])
    func malformed(value: String) async throws {
        let reply = try await fixture.send(.put, "/items/1", "{}", fields: ["Repr-Digest": value])
        #expect(reply.problem?.code == .badRequest)
        #expect(fixture.origin.received.isEmpty)
    }

    @Test(
        "an answer of other bytes than its digest says is broken off, and no server copy",
        arguments: HashAlgorithm.allCases)
    func answer(algorithm: HashAlgorithm) async throws {
        for (stated, isRight) in [("{}", true), ("other", false)] {
            fixture.origin.then(
                200,
                [
                    "ETag": "\"1\"", "Content-Type": "application/json", "Content-Location": "/items/1",
                    "Repr-Digest": digest(stated, algorithm),
                ], "{}")
            let reply = try await fixture.send(.put, "/items/1", "{}")
            #expect(reply.wasAborted == !isRight)
            let copies = try await fixture.store.entry(fixture.key("/items/1"))?.copies ?? []
            #expect(copies.contains { !$0.isExpired } == isRight)
        }
    }

    @Test("an empty body has a digest too")
    func empty() async throws {
        let reply = try await fixture.send(.put, "/items/1", "", fields: ["Repr-Digest": digest("x", .sha256)])
        #expect(reply.problem?.code == .badRequest)
    }
}
