import HTTPModel
import Testing

@Suite("Ranges")
struct RangeTests {
    @Test(
        "Ranges are read in the order of the field",
        arguments: [
            ("bytes=0-9", [.from(0, through: 9)]), ("Bytes=5-", [.from(5, through: nil)]), ("bytes=-5", [.suffix(5)]),
            ("bytes=0-0, ,-1 ,3-", [.from(0, through: 0), .suffix(1), .from(3, through: nil)]),
            ("bytes= 0-9", [.from(0, through: 9)]),
            ("bytes=0-99999999999999999999", [.from(0, through: .max)]),
        ] as [(String, [ByteRangeSet.Spec])])
    func read(value: String, specs: [ByteRangeSet.Spec]) {
        #expect(ByteRangeSet(value)?.specs == specs)
    }

    @Test(
        "A malformed field is ignored",
        arguments: [
            "", "bytes", "bytes=", "bytes=,", "bytes=9-1", "bytes=a-b", "bytes=-", "bytes=1", "items=0-1",
            "bytes=0-1,x",
            "bytes=--1", "bytes=1-2-3", "bytes=+1-2", "bytes=0 -1",
        ])
    func ignored(value: String) {
        #expect(ByteRangeSet(value) == nil)
    }

    @Test(
        "A Content-Range beyond 2^62 bytes is malformed",
        arguments: [
            ("bytes 0-1/4611686018427387904", true), ("bytes 0-1/4611686018427387905", false),
            ("bytes 4611686018427387903-4611686018427387903/*", true),
            ("bytes 4611686018427387904-4611686018427387904/*", false),
            ("bytes 9223372036854775800-9223372036854775806/9223372036854775807", false),
        ])
    func longest(value: String, isTaken: Bool) {
        #expect((ContentRange(value) != nil) == isTaken)
    }

    @Test func `More than 100 ranges are ignored`() {
        func value(_ count: Int) -> String { "bytes=" + repeatElement("0-0", count: count).joined(separator: ",") }
        #expect(ByteRangeSet(value(100))?.specs.count == 100)
        #expect(ByteRangeSet(value(101)) == nil)
        #expect(ByteRangeSet(value(10_000)) == nil)
    }

    @Test(
        "Ranges are cut to the length",
        arguments: [
            ("bytes=0-9", 5, .satisfiable([0..<5])), ("bytes=2-3", 5, .satisfiable([2..<4])),
            ("bytes=-2", 5, .satisfiable([3..<5])), ("bytes=-9", 5, .satisfiable([0..<5])),
            ("bytes=4-", 5, .satisfiable([4..<5])), ("bytes=5-", 5, .unsatisfiable), ("bytes=-0", 5, .unsatisfiable),
            ("bytes=9-,0-0", 5, .satisfiable([0..<1])), ("bytes=0-", 0, .unsatisfiable),
            ("bytes=-1", 0, .unsatisfiable),
            ("bytes=0-99999999999999999999", 5, .satisfiable([0..<5])),
        ] as [(String, Int64, ByteRangeSet.Resolution)])
    func resolved(value: String, length: Int64, expected: ByteRangeSet.Resolution) {
        #expect(ByteRangeSet(value)?.resolve(length: length) == expected)
    }

    @Test func `Ranges that overlap or touch become one`() {
        #expect(ByteRangeSet.coalesce([5..<9, 0..<2, 2..<4, 8..<12]) == [0..<4, 5..<12])
        #expect(ByteRangeSet.coalesce([0..<9, 1..<2]) == [0..<9])
    }

    @Test(
        "Content-Range is read and written",
        arguments: [
            ("bytes 0-9/100", ContentRange(0..<10, length: 100)), ("bytes 5-5/*", ContentRange(5..<6, length: nil)),
            ("bytes */100", ContentRange(unsatisfiedLength: 100)),
        ])
    func contentRange(text: String, expected: ContentRange) {
        #expect(ContentRange(text) == expected)
        #expect(expected.text == text)
    }

    @Test(
        "A Content-Range that contradicts itself is none",
        arguments: [
            "", "bytes", "bytes 0-9", "bytes 9-0/100", "bytes 0-100/100", "bytes */*", "items 0-1/2", "bytes 0-9/x",
            "bytes -1/2",
            "bytes 0-99999999999999999999/*",
        ])
    func refused(text: String) {
        #expect(ContentRange(text) == nil)
    }
}
