import CacheCore
import Testing

@Suite("JSON values")
struct JSONValueTests {
    @Test(
        "A text comes out as it went in",
        arguments: [
            "null", "true", "false", "0", "-0", "1.50", "1e2", "1E+400", "12345678901234567890.1", "\"\"", "[]", "{}",
            #"{"b":1,"a":[1,{"c":null}],"b":2}"#, #""a\"\\\n\u0001é😀""#, #""\ud800""#, #""x\udc00\ud800y""#,
            "\"\u{10F000}\u{10F800}\u{10F810}\u{10FFFF}\"",
        ])
    func roundTrip(text: String) throws {
        #expect(try JSONValue(parsing: text).description == text)
    }

    @Test(
        "Escapes that are not needed are dropped",
        arguments: [
            (#""\/\u0041\u00e9\u0022""#, "\"/Aé\\\"\""), (#""\ud83d\ude00""#, "\"😀\""), (#""\u007f""#, "\"\u{7f}\""),
            (#" [ 1 , 2 ] "#, "[1,2]"), (#""\udbfc\udc00""#, "\"\u{10F000}\""),
        ])
    func minimal(text: String, expected: String) throws {
        #expect(try JSONValue(parsing: text).description == expected)
    }

    @Test(
        "What is not JSON is refused",
        arguments: [
            "", " ", "nul", "tru", "True", "01", "-", "1.", ".5", "1e", "+1", "0x1", "NaN", "[1,]", "[1", "{\"a\":1,}",
            "{a:1}", "{\"a\"}", "{\"a\":}", "\"", "\"\\x\"", "\"\\u12g4\"", "\"\\u12\"", "\"a\nb\"", "1 2", "[1]]",
            "'a'",
            "\u{feff}1", "//c\n1", "[,1]", "\"\t\"",
        ])
    func refused(text: String) {
        #expect(throws: JSONError.self) { try JSONValue(parsing: text) }
    }

    @Test(
        "Bytes that are not UTF-8 are refused",
        arguments: [
            [0x22, 0xFF, 0x22], [0x22, 0xC0, 0x80, 0x22], [0x22, 0xED, 0xA0, 0x80, 0x22],
            [0x22, 0x5C, 0x6E, 0xF4, 0x22],
        ])
    func notUTF8(bytes: [UInt8]) {
        #expect(throws: JSONError.self) { try JSONValue(parsing: bytes) }
    }

    @Test func `An error names line, column and byte`() {
        let error = #expect(throws: JSONError.self) { try JSONValue(parsing: "{\n  \"a\": ?\n}") }
        #expect(error?.line == 2)
        #expect(error?.column == 8)
        #expect(error?.offset == 9)
        #expect(error?.description.hasPrefix("line 2, column 8: ") == true)
    }

    @Test func `Nesting is allowed to the limit and no deeper`() {
        func nested(_ depth: Int) -> String {
            String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
        }
        #expect(throws: Never.self) { try JSONValue(parsing: nested(512)) }
        #expect(throws: JSONError.self) { try JSONValue(parsing: nested(513)) }
        #expect(throws: JSONError.self) { try JSONValue(parsing: String(repeating: "{\"a\":", count: 100_000)) }
    }

    @Test func `A name that comes twice gives its last value`() throws {
        let value = try JSONValue(parsing: #"{"a":1,"a":2}"#)
        #expect(value["a"] == 2)
        #expect(value.members?.count == 2)
    }

    @Test func `Names are told apart by bytes`() {
        let value: JSONValue = ["e\u{301}": 1, "\u{e9}": 2]
        #expect(value["e\u{301}"] == 1)
        #expect(value["\u{e9}"] == 2)
        #expect(JSONValue("e\u{301}") != JSONValue("\u{e9}"))
    }

    @Test func `Setting a member keeps its place, setting nil removes it`() {
        var value: JSONValue = ["a": 1, "b": 2]
        value["a"] = 3
        value["c"] = "x"
        #expect(value.description == #"{"a":3,"b":2,"c":"x"}"#)
        value["b"] = Optional<JSONValue>.none
        #expect(value.description == #"{"a":3,"c":"x"}"#)
    }

    @Test(
        "A whole number is an int however it is written",
        arguments: [
            ("1", 1), ("1.0", 1), ("1e2", 100), ("-120e-1", -12), ("0.0", 0), ("-0", 0),
            ("9223372036854775807", Int.max),
            ("-9223372036854775808.0", Int.min), ("1.5", nil), ("9223372036854775808", nil), ("1e400", nil),
            ("1e-1", nil),
        ] as [(String, Int?)])
    func ints(text: String, expected: Int?) throws {
        #expect(try JSONValue(parsing: text).int == expected)
    }

    @Test(
        "Equivalence is by value",
        arguments: [
            ("1.0", "1", true), ("1e2", "100", true), ("0.1e1", "1", true), ("-0", "0", true), ("0e9", "0.00", true),
            ("9007199254740993", "9007199254740992", false), ("0.1", "0.10000000000000000001", false),
            ("1e400", "10e399", true), ("1e400", "1e401", false), ("1", "-1", false), ("1", "\"1\"", false),
            (#"{"a":1,"b":[2]}"#, #"{"b":[2.0],"a":1}"#, true), (#"{"a":1}"#, #"{"a":1,"b":1}"#, false),
            (#"{"a":1,"a":2}"#, #"{"a":2}"#, true), ("[1,2]", "[2,1]", false), ("null", "false", false),
        ])
    func equivalence(first: String, second: String, expected: Bool) throws {
        let (a, b) = (try JSONValue(parsing: first), try JSONValue(parsing: second))
        #expect(a.isEquivalent(to: b) == expected)
        #expect(b.isEquivalent(to: a) == expected)
    }

    @Test(
        "Numbers are ordered by their exact value",
        arguments: [
            ("1", "2"), ("-2", "-1"), ("-1", "0"), ("0", "0.1"), ("9", "10"), ("0.09", "0.1"), ("1e2", "101"),
            ("-1e2", "1"),
            ("9007199254740992", "9007199254740993"), ("1.5", "1.51"),
        ])
    func order(smaller: String, larger: String) throws {
        let (a, b) = (try #require(JSONDecimal(smaller)), try #require(JSONDecimal(larger)))
        #expect(a < b)
        #expect(!(b < a))
    }

    @Test func `Objects are built in order and without what is nil`() {
        let size: Int? = nil
        let value = JSONValue.object(omittingNil: [
            "id": "7", "size": size.map { JSONValue($0) }, "list": [1, nil, true],
        ])
        #expect(value.description == #"{"id":"7","list":[1,null,true]}"#)
        #expect(
            JSONValue.object(["a": 1.5, "b": JSONValue(2.0), "c": JSONValue(Double.nan)]).description
                == #"{"a":1.5,"b":2,"c":null}"#)
    }

    @Test func `Pretty text has two spaces a level`() {
        let value: JSONValue = ["a": [1, [:]], "b": []]
        let expected = "{\n  \"a\": [\n    1,\n    {}\n  ],\n  \"b\": []\n}\n"
        #expect(String(decoding: value.prettyBytes, as: UTF8.self) == expected)
    }
}
