import API
import CacheCore
import HTTPModel
import TestSupport
import Testing

@Suite("Partial content", .timeLimit(.minutes(1)))
struct PartialReadTests {
    let fixture = ReadFixture()
    private static let long = 2 << 20

    private func get(_ range: String? = nil, _ fields: HTTPFields = HTTPFields()) async -> RecordingExchange.Answer {
        var fields = fields
        fields["Range"] = range
        return await fixture.ask("/files/a", fields)
    }

    /// Parts of a long file are kept: its first 256 KiB.
    private func startLong(_ change: (inout FileOrigin.State) -> Void = { _ in }) async throws -> FileOrigin {
        let origin = FileOrigin(fixture, length: Self.long)
        _ = await get("bytes=0-99")
        try await fixture.settle("/a") { $0.parts.first?.heldLength == RangeFill.readAhead }
        origin.change(change)
        return origin
    }

    @Test("a range on a miss is filled with read-ahead, and what that brought answers the next ones")
    func readAhead() async throws {
        let origin = try await startLong()
        #expect(origin.ranges == ["bytes=0-262143"])
        for (range, bytes) in [("bytes=100-199", 100..<200), ("bytes=262143-262143", 262_143..<262_144)] {
            let answer = await get(range)
            #expect(answer.status == 206)
            #expect(answer.body == Array(origin.body[bytes]))
            #expect(answer.fields["Content-Range"] == "\(range.replacing("=", with: " "))/\(Self.long)")
            #expect(answer.fields["Cache-Status"] == "Holdfast; hit; ttl=60")
        }
        #expect(origin.sent == Int(RangeFill.readAhead))
    }

    @Test("what a range lacks is asked for with If-Range, and only that")
    func lacking() async throws {
        let origin = try await startLong()
        let answer = await get("bytes=262100-262199")
        #expect(answer.body == Array(origin.body[262_100..<262_200]))
        #expect(answer.fields["Content-Range"] == "bytes 262100-262199/\(Self.long)")
        #expect(answer.fields["Cache-Status"]?.contains("fwd=partial") == true)
        #expect(origin.ranges.last == "bytes=262144-524287")
        #expect(origin.lastRequest["If-Range"] == "\"1\"")
        #expect(origin.sent == 2 * Int(RangeFill.readAhead))
    }

    @Test("a whole read asks for the rest alone, and the whole is a copy like any other then")
    func completed() async throws {
        let origin = try await startLong()
        let answer = await get()
        #expect(answer.status == 200)
        #expect(answer.length == Int64(Self.long))
        #expect(answer.body == origin.body)
        #expect(!answer.fields.contains("Content-Range"))
        #expect(origin.ranges.last == "bytes=262144-")
        #expect(origin.sent == Self.long)
        try await fixture.settle("/a") { $0.parts.isEmpty }
        let copy = try #require(try await fixture.store.entry(fixture.key("/a"))?.copies.first)
        #expect(try await fixture.store.bytes(of: copy.content, limit: .max) == origin.body)
        #expect(copy.status == 200)
        fixture.network.force(offline: true)
        #expect(await get().body == origin.body)
        #expect(origin.ranges.count == 2)
    }

    @Test("a short file that a range brought whole is a whole copy once it is here")
    func short() async throws {
        let origin = FileOrigin(fixture, length: 1_000)
        #expect(await get("bytes=0-9").body == Array(origin.body[0..<10]))
        try await fixture.settle("/a") { !$0.copies.isEmpty && $0.parts.isEmpty }
        #expect(await get().body == origin.body)
        #expect(origin.ranges == ["bytes=0-262143"])
    }

    @Test("parts are never the whole, and answer the ranges that they have, offline too")
    func offline() async throws {
        _ = try await startLong()
        fixture.network.force(offline: true)
        #expect(await get().status == 504)
        #expect(await get("bytes=262143-262144").status == 504)
        #expect(await get("bytes=0-9").status == 206)
        #expect(await get("bytes=5-6,0-1").fields["Content-Type"]?.hasPrefix("multipart/byteranges") == true)
        #expect(await get("bytes=0-", ["Sync-Policy": "fetch-policy=FETCH_FROM_CACHE"]).status == 404)
    }

    @Test("stale parts are confirmed by their validator without a byte of body")
    func confirmed() async throws {
        let origin = try await startLong()
        fixture.clock.advance(by: 61)
        let answer = await get("bytes=10-19")
        #expect(answer.body == Array(origin.body[10..<20]))
        #expect(origin.lastRequest["If-None-Match"] == "\"1\"")
        #expect(origin.sent == Int(RangeFill.readAhead))
        #expect(await get("bytes=10-19").fields["Cache-Status"]?.contains("hit") == true)
    }

    @Test("parts of a version that has changed are given up", arguments: ["bytes=10-19", "bytes=262140-262149", nil])
    func changed(range: String?) async throws {
        let origin = try await startLong {
            $0.body = $0.body.reversed()
            $0.tag = "\"2\""
        }
        fixture.clock.advance(by: 61)
        let bytes = range.flatMap { ByteRangeSet($0) }?.resolve(length: Int64(Self.long))
        let answer = await get(range)
        guard case .satisfiable(let ranges) = bytes else {
            #expect(answer.body == origin.body)
            return
        }
        #expect(answer.body == Array(origin.body[Int(ranges[0].lowerBound)..<Int(ranges[0].upperBound)]))
        #expect(answer.fields["ETag"] == "\"2\"")
        try await fixture.settle("/a") { $0.parts.allSatisfy { $0.validator == "\"2\"" } }
    }

    @Test(
        "a part of another version or another length is not put beside those that are here",
        arguments: [("\"2\"", 0), ("\"1\"", 1)])
    func otherPart(tag: String, longer: Int) async throws {
        let origin = try await startLong {
            $0.body = $0.body.reversed() + [UInt8](repeating: 0, count: longer)
            $0.tag = tag
            $0.heedsIfRange = false
        }
        let answer = await get("bytes=262140-262149")
        #expect(answer.body == Array(origin.body[262_140..<262_150]))
        #expect(answer.fields["Content-Range"] == "bytes 262140-262149/\(Self.long + longer)")
        let whole = await get()
        #expect(whole.body == origin.body)
    }

    @Test("a download that was cut goes on where it ended", arguments: [1_000, 1 << 20 + 1])
    func resumed(length: Int) async throws {
        let origin = FileOrigin(fixture, length: length)
        origin.change { $0.cutAfter = 600 }
        #expect(await get().wasAborted)
        try await fixture.settle("/a") { $0.parts.first?.heldLength == 600 && $0.copies.isEmpty }
        origin.change { $0.cutAfter = nil }
        let answer = await get()
        #expect(answer.status == 200)
        #expect(answer.body == origin.body)
        #expect(origin.lastRequest["Range"] == "bytes=600-")
        #expect(origin.lastRequest["If-Range"] == "\"1\"")
        #expect(origin.sent == length)
    }

    @Test("without a strong validator nothing of a cut download is kept", arguments: [nil, "W/\"1\""])
    func notResumed(tag: String?) async throws {
        let origin = FileOrigin(fixture, length: 1_000, tag: tag)
        origin.change { $0.cutAfter = 600 }
        #expect(await get().wasAborted)
        #expect(try await fixture.store.entry(fixture.key("/a")) == nil)
        origin.change { $0.cutAfter = nil }
        #expect(await get().body == origin.body)
        #expect(origin.ranges == ["", ""])
    }
}
