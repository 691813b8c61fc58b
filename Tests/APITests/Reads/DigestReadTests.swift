import API
import CacheCore
import HTTPModel
import TestSupport
import Testing

@Suite("Digests of answers from the store", .timeLimit(.minutes(1)))
struct DigestReadTests {
    let fixture = ReadFixture()

    private func digest(of target: String) async throws -> String {
        let copy = try #require(try await fixture.store.entry(fixture.key(target))?.copies.first)
        return "sha-256=:\(Base64.encode(copy.content.digest.bytes)):"
    }

    @Test("a digest is sent to who wants it, and to nobody else")
    func wanted() async throws {
        try await fixture.know("/a", "0123456789")
        let plain = await fixture.ask("/files/a")
        #expect(!plain.fields.contains("Repr-Digest") && !plain.fields.contains("Content-Digest"))
        let answer = await fixture.ask(
            "/files/a", ["Want-Repr-Digest": "sha-256=1", "Want-Content-Digest": "sha-256=9"])
        #expect(answer.fields["Repr-Digest"] == (try await digest(of: "/a")))
        #expect(answer.fields["Content-Digest"] == (try await digest(of: "/a")))
    }

    @Test(
        "SHA-256 is sent for another algorithm, and not where it is not acceptable",
        arguments: [
            ("sha-512=3", true), ("sha-256=0", false), ("sha-512=3, sha-256=0", false), ("", false), ("?!", false),
        ])
    func algorithms(wish: String, isSent: Bool) async throws {
        try await fixture.know("/a", "0123456789")
        let answer = await fixture.ask("/files/a", ["Want-Repr-Digest": wish])
        #expect(answer.status == 200)
        #expect(answer.fields.contains("Repr-Digest") == isSent)
    }

    @Test("a part carries the digest of the whole as Repr-Digest, and no Content-Digest of it")
    func part() async throws {
        try await fixture.know("/a", "0123456789", ["Content-Digest": "sha-256=:AAAA:"])
        let answer = await fixture.ask(
            "/files/a", ["Range": "bytes=0-3", "Want-Repr-Digest": "sha-256=1", "Want-Content-Digest": "sha-256=1"])
        #expect(answer.status == 206)
        #expect(answer.fields["Repr-Digest"] == (try await digest(of: "/a")))
        #expect(!answer.fields.contains("Content-Digest"))
    }

    @Test("the origin's own digest stays")
    func own() async throws {
        try await fixture.know("/a", "0123456789", ["Repr-Digest": "sha-512=:AAAA:"])
        let answer = await fixture.ask("/files/a", ["Want-Repr-Digest": "sha-256=1"])
        #expect(answer.fields["Repr-Digest"] == "sha-512=:AAAA:")
    }
}
