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
            ("md5=3", true), ("sha-256=0", false), ("md5=3, sha-256=0", false), ("", false), ("?!", false),
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

    @Test(
        "SHA-512 is sent where it is wanted more",
        arguments: [("sha-512=3", true), ("sha-512=3, sha-256=2", true), ("sha-512=3, sha-256=9", false)])
    func longer(wish: String, isSHA512: Bool) async throws {
        try await fixture.know("/a", "0123456789")
        let answer = await fixture.ask("/files/a", ["Want-Repr-Digest": wish])
        let expected = isSHA512 ? stated("0123456789", .sha512) : try await digest(of: "/a")
        #expect(answer.fields["Repr-Digest"] == expected)
    }
}

@Suite("Digests of the origin's answers", .timeLimit(.minutes(1)))
struct DigestFetchTests {
    let fixture = ReadFixture()

    private func origin(_ fields: HTTPFields, _ body: String, isDelimited: Bool = true, isWhole: Bool = false) {
        var fields = fields
        fields["Date"] = HTTPDate(fixture.clock.now).text
        let head = fields
        fixture.origin.answer { (_: OriginRequest) throws(OriginError) in
            OriginResponse(
                status: 200, fields: head, body: PacedBody([Array(body.utf8)]), isDelimited: isDelimited,
                whole: isWhole ? Array(body.utf8) : nil)
        }
    }

    @Test(
        "an answer of other bytes than its digest says is broken off, and not kept",
        arguments: HashAlgorithm.allCases, ["Repr-Digest", "Content-Digest"])
    func refuted(algorithm: HashAlgorithm, field: String) async throws {
        for length in ["7", nil] {
            var fields: HTTPFields = ["Cache-Control": "max-age=60", "ETag": "\"1\""]
            fields["Content-Length"] = length
            fields[field] = stated("genuine", algorithm)
            origin(fields, "altered")
            #expect(await fixture.ask("/files/a").wasAborted)
            #expect(try await fixture.store.entry(fixture.key("/a")) == nil)
            origin(fields, "genuine")
            #expect(await fixture.ask("/files/a\(length ?? "")").text == "genuine")
        }
    }

    @Test("what is not kept is refused as a bad answer")
    func unkept() async {
        origin(["Cache-Control": "no-store", "Repr-Digest": stated("genuine", .sha256)], "altered", isWhole: true)
        let answer = await fixture.ask("/files/a")
        #expect(answer.status == 502)
        #expect(answer.text.contains("/problems/bad-answer"))
    }

    @Test("an answer that closing ends is kept where its digest proves that it is whole")
    func proven() async throws {
        let fields: HTTPFields = ["Cache-Control": "max-age=60", "Repr-Digest": stated("genuine", .sha512)]
        origin(fields, "genui", isDelimited: false)
        #expect(await fixture.ask("/files/a").wasAborted)
        origin(fields, "genuine", isDelimited: false)
        #expect(await fixture.ask("/files/a").text == "genuine")
        #expect(await fixture.ask("/files/a").fields["Cache-Status"] == "Holdfast; hit; ttl=60")
    }

    @Test("a digest that can't be read or is of another algorithm says nothing", arguments: ["?!", "md5=:AAAA:"])
    func unknown(value: String) async {
        origin(["Cache-Control": "max-age=60", "Content-Length": "7", "Repr-Digest": value], "genuine")
        #expect(await fixture.ask("/files/a").text == "genuine")
        #expect(await fixture.ask("/files/a").fields["Cache-Status"]?.contains("hit") == true)
    }

    @Test("parts that make up another whole than Repr-Digest says are given up")
    func parts() async throws {
        let file = FileOrigin(fixture, length: 1_000)
        let rule = try #require(fixture.origin.rule)
        fixture.origin.answer { (request: OriginRequest) throws(OriginError) in
            var response = try await rule(request)
            response.fields["Repr-Digest"] = stated("another", .sha256)
            return response
        }
        #expect(await fixture.ask("/files/a", ["Range": "bytes=0-9"]).body == Array(file.body[0..<10]))
        await fixture.settle()
        #expect(try await fixture.store.entry(fixture.key("/a")).map { $0.parts.isEmpty && $0.copies.isEmpty } ?? true)
    }
}

private func stated(_ text: String, _ algorithm: HashAlgorithm) -> String {
    let hash = PlainHash(algorithm)
    hash.update(Array(text.utf8))
    return "\(algorithm.rawValue)=:\(Base64.encode(hash.finish())):"
}
