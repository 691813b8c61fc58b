import CacheCore
import HTTPModel
import Testing

@Suite struct `Parts of a copy` {
    private func content(_ number: UInt8) -> Content {
        Content(digest: Digest(bytes: [number]), length: 1_000, inline: nil)
    }

    private func parts(_ ranges: [Range<Int64>], length: Int64 = 100, _ fields: HTTPFields = ["ETag": "\"1\""]) throws
        -> PartialCopy
    {
        let pieces = ranges.enumerated().map { index, range in
            PartialCopy.Piece(range: range, content: content(UInt8(truncatingIfNeeded: index)))
        }
        return try #require(PartialCopy(head: makeCopy(fields, status: 206), length: length, pieces: pieces))
    }

    @Test func `They have the head of the whole`() throws {
        let parts = try parts(
            [0..<10], ["ETag": "\"1\"", "Content-Range": "bytes 0-9/100", "Content-Digest": "d", "X": "y"])
        #expect(parts.head.status == 200)
        #expect(!parts.head.fields.contains("Content-Range") && !parts.head.fields.contains("Content-Digest"))
        #expect(parts.head.fields["X"] == "y")
        #expect(parts.validator == "\"1\"")
    }

    private static let validators: [(fields: HTTPFields, validator: String?)] = [
        (["ETag": "\"1\""], "\"1\""), (["ETag": "W/\"1\""], nil), ([:], nil),
        (["ETag": "W/\"1\"", "Last-Modified": date(100), "Date": date(1_000)], nil),
        (["Last-Modified": date(900), "Date": date(960)], date(900)),
        (["Last-Modified": date(900), "Date": date(959)], nil), (["Last-Modified": date(900)], nil),
        (["Last-Modified": "yesterday", "Date": date(960)], nil),
    ]

    @Test(arguments: validators)
    func `Only a strong validator holds parts together`(fields: HTTPFields, validator: String?) {
        #expect(PartialCopy(head: makeCopy(fields), length: 9)?.validator == validator)
    }

    private static let gaps: [(held: [Range<Int64>], wanted: Range<Int64>, gap: Range<Int64>?)] = [
        ([0..<10], 0..<10, nil), ([0..<10], 0..<11, 10..<11), ([5..<10], 0..<10, 0..<5), ([0..<5, 5..<9], 2..<9, nil),
        ([0..<2, 4..<6, 8..<10], 0..<10, 2..<8), ([4..<6], 0..<10, 0..<10), ([], 3..<4, 3..<4),
        ([0..<100], 0..<100, nil),
    ]

    @Test(arguments: gaps)
    func `A gap reaches from the first missing byte to the last`(
        held: [Range<Int64>], wanted: Range<Int64>, gap: Range<Int64>?
    ) throws {
        let parts = try parts(held)
        #expect(parts.gap(in: wanted) == gap)
        #expect(parts.covers(wanted) == (gap == nil))
        #expect((parts.slices(of: wanted) == nil) == (gap != nil))
    }

    @Test func `A piece is kept where others do not have its bytes already`() throws {
        let parts = try parts([10..<20, 30..<40, 15..<35])
        #expect(parts.pieces.map(\.range) == [10..<20, 20..<30, 30..<40])
        #expect(parts.pieces[1].content == content(2))
        #expect(parts.pieces[1].offset == 5)
        #expect(parts.heldLength == 30)
        let slices = try #require(parts.slices(of: 18..<32))
        #expect(slices.map(\.content) == [content(0), content(2), content(1)])
        #expect(slices.map(\.range) == [8..<10, 5..<15, 0..<2])
    }

    @Test func `A piece that covers others takes their place`() throws {
        let parts = try parts([10..<20, 30..<40, 5..<45])
        #expect(parts.pieces.map(\.range) == [5..<45])
        #expect(parts.pieces[0].content == content(2))
        #expect(try self.parts([0..<50, 10..<20]).pieces.map(\.range) == [0..<50])
    }

    @Test func `They are complete once no byte is missing`() throws {
        #expect(try parts([0..<50, 50..<100]).isComplete)
        #expect(try !parts([0..<50, 51..<100]).isComplete)
        #expect(try parts([0..<100]).isComplete)
    }

    @Test func `Parts combine by their strong validator and the length of the whole alone`() throws {
        let one = try parts([0..<10])
        let two = try parts([10..<20], ["ETag": "\"1\"", "X": "new"])
        let both = try #require(one.combined(with: two))
        #expect(both.covers(0..<20))
        #expect(both.head.fields["X"] == "new")
        #expect(one.combined(with: try parts([10..<20], ["ETag": "\"2\""])) == nil)
        #expect(one.combined(with: try parts([10..<20], length: 99)) == nil)
    }

    @Test func `Of too many pieces the shortest goes`() throws {
        let count = Int64(PartialCopy.pieceLimit)
        let pieces = (0...count).map { $0 * 10..<$0 * 10 + ($0 == 7 ? 1 : 5) }
        let parts = try parts(pieces, length: count * 20)
        #expect(parts.pieces.count == PartialCopy.pieceLimit)
        #expect(!parts.covers(70..<71))
        #expect(parts.covers(80..<85))
    }

    private static let misses: [(first: Int64, last: Int64?, text: String?)] = [
        (0, nil, nil), (0, 9, "bytes=0-262143"), (5, nil, "bytes=5-"), (5, 9, "bytes=5-262148"),
        (0, 999_999, "bytes=0-999999"), (.max - 1, .max, "bytes=9223372036854775806-9223372036854775806"),
    ]

    @Test(arguments: misses)
    func `On a miss more is asked for than the range, and the whole for all of it`(
        first: Int64, last: Int64?, text: String?
    ) {
        #expect(RangeFill(first: first, last: last)?.text == text)
    }

    @Test func `Parts are completed by what is missing`() throws {
        let short = try parts([10..<20, 30..<40])
        #expect(RangeFill(12..<14, lackedBy: short) == nil)
        #expect(RangeFill(0..<5, lackedBy: short)?.text == "bytes=0-")
        #expect(RangeFill(0..<5, lackedBy: try parts([0..<2, 50..<100]))?.text == "bytes=2-49")
        let long = try parts([0..<10, 1_000_000..<1_000_010], length: 9_000_000)
        #expect(RangeFill(5..<20, lackedBy: long)?.text == "bytes=10-262153")
        #expect(RangeFill(900_000..<900_001, lackedBy: long)?.text == "bytes=900000-999999")
        #expect(RangeFill(0..<9_000_000, lackedBy: long)?.text == "bytes=10-")
        #expect(RangeFill(8_999_999..<9_000_000, lackedBy: long)?.text == "bytes=8999999-")
    }
}
