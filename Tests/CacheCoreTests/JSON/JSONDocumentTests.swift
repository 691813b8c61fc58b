import CacheCore
import Testing

@Suite("JSON documents")
struct JSONDocumentTests {
    private static let sample =
        #"{"foo":["bar","baz"],"":0,"a/b":1,"c%d":2,"e^f":3,"g|h":4,"i\\j":5,"k\"l":6," ":7,"m~n":8}"#

    @Test(
        "Pointers lead where RFC 6901 5 says",
        arguments: [
            ("/foo", #"["bar","baz"]"#), ("/foo/0", #""bar""#), ("/", "0"), ("/a~1b", "1"), ("/c%d", "2"),
            ("/e^f", "3"),
            ("/g|h", "4"), ("/i\\j", "5"), ("/k\"l", "6"), ("/ ", "7"), ("/m~0n", "8"), ("/foo/2", nil),
            ("/foo/-", nil),
            ("/foo/00", nil), ("/foo/x", nil), ("/x", nil), ("/foo/0/x", nil), ("", sample), ("/foo/+1", nil),
        ] as [(String, String?)])
    func evaluate(text: String, expected: String?) throws {
        let document = try JSONValue(parsing: Self.sample)
        let pointer = try #require(JSONPointer(text))
        #expect(pointer.value(in: document)?.description == expected)
        #expect(pointer.text == text)
    }

    @Test("What is no pointer is none", arguments: ["a", "a/b", "/~", "/~2", "/a~", "#/a"])
    func malformed(text: String) {
        #expect(JSONPointer(text) == nil)
    }

    @Test(
        "Setting replaces, adds or appends",
        arguments: [
            ("/a", #"{"a":9,"l":[1,2]}"#), ("/b", #"{"a":{"b":1},"l":[1,2],"b":9}"#),
            ("/a/b", #"{"a":{"b":9},"l":[1,2]}"#),
            ("/l/0", #"{"a":{"b":1},"l":[9,2]}"#), ("/l/2", #"{"a":{"b":1},"l":[1,2,9]}"#),
            ("/l/-", #"{"a":{"b":1},"l":[1,2,9]}"#),
            ("", "9"), ("/l/3", nil), ("/x/y", nil), ("/a/b/c", nil),
        ] as [(String, String?)])
    func set(pointer: String, expected: String?) throws {
        var document = try JSONValue(parsing: #"{"a":{"b":1},"l":[1,2]}"#)
        let before = document.description
        #expect(JSONPointer(pointer)?.set(9, in: &document) == (expected != nil))
        #expect(document.description == expected ?? before)
    }

    @Test func `Removing closes the gap and gives back what was there`() throws {
        var document = try JSONValue(parsing: #"{"a":[1,2,3],"b":{"c":4}}"#)
        #expect(JSONPointer("/a/1")?.remove(from: &document) == 2)
        #expect(JSONPointer("/b/c")?.remove(from: &document) == 4)
        #expect(document.description == #"{"a":[1,3],"b":{}}"#)
        #expect(JSONPointer("/b/c")?.remove(from: &document) == Optional<JSONValue>.none)
        #expect(JSONPointer("/a/2")?.remove(from: &document) == Optional<JSONValue>.none)
        #expect(document.description == #"{"a":[1,3],"b":{}}"#)
    }

    @Test(
        "Differences are named by the deepest pointer",
        arguments: [
            ("{}", "{}", []), (#"{"a":1,"b":2}"#, #"{"b":2.0,"a":1e0}"#, []), (#"{"a":1}"#, #"{"a":2}"#, ["/a"]),
            (#"{"a":1,"c/d":{"e":[1,2]}}"#, #"{"b":1,"c/d":{"e":[1,3,4]}}"#, ["/a", "/c~1d/e/1", "/c~1d/e/2", "/b"]),
            ("1", "2", [""]), (#"{"a":[]}"#, #"{"a":{}}"#, ["/a"]), (#"{"a":null}"#, "{}", ["/a"]),
        ])
    func difference(first: String, second: String, pointers: [String]) throws {
        #expect(try JSONDifference.pointers(between: JSONValue(parsing: first), JSONValue(parsing: second)) == pointers)
    }

    @Test func `Strings are replaced at every depth, names are not`() throws {
        let document = try JSONValue(parsing: #"{"t":"t","l":["t",{"x":"u"}],"n":1.0}"#)
        let result = document.replacingStrings { $0 == "t" ? 7 : nil }
        #expect(result.description == #"{"t":7,"l":[7,{"x":"u"}],"n":1.0}"#)
    }

    @Test func `A writer places commas by itself`() throws {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("id", "a\"b")
        writer.member("size", 7)
        writer.member("none", String?.none)
        writer.key("list")
        writer.beginArray()
        writer.bool(true)
        writer.null()
        writer.double(1.5)
        writer.beginObject()
        writer.endObject()
        writer.value([1])
        writer.raw("{}".utf8)
        writer.endArray()
        writer.member("last", false)
        writer.endObject()
        let text = String(decoding: writer.bytes, as: UTF8.self)
        #expect(text == #"{"id":"a\"b","size":7,"list":[true,null,1.5,{},[1],{}],"last":false}"#)
        writer.reset()
        writer.int(5)
        #expect(writer.bytes == [0x35])
    }

    @Test func `A member set anew stands for all of its name`() throws {
        var document = try JSONValue(parsing: #"{"a":1,"b":2,"a":3}"#)
        document["a"] = 4
        #expect(document.description == #"{"b":2,"a":4}"#)
    }

    @Test(
        "The walker over text finds the members that the tree has, whatever their names are",
        arguments: [#"a"#, #"\u0061"#, #"\"\\"#, "e\u{301}", "\u{100000}", "\u{10ff80}", #"\udbc0\udc00"#, #"\ud800"#])
    func walked(name: String) throws {
        let text = Array("{\"x\":0,\"\(name)\":[1,{\"\(name)\":2}]}".utf8)
        let document = try JSONValue(parsing: text)
        let key = try #require(document.members?.last?.name)
        let whole = try #require(JSONCursor.whole(text))
        let found = JSONCursor.find(JSONPointer(tokens: [key, "1", key]), in: text, at: whole)
        #expect(found.map { Array(text[$0]) } == Array("2".utf8))
    }
}
