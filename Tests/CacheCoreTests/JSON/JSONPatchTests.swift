import CacheCore
import Testing

@Suite("JSON patches")
struct JSONPatchTests {
    @Test(
        "Merge patches follow RFC 7396 appendix A",
        arguments: [
            (#"{"a":"b"}"#, #"{"a":"c"}"#, #"{"a":"c"}"#), (#"{"a":"b"}"#, #"{"b":"c"}"#, #"{"a":"b","b":"c"}"#),
            (#"{"a":"b"}"#, #"{"a":null}"#, "{}"), (#"{"a":"b","b":"c"}"#, #"{"a":null}"#, #"{"b":"c"}"#),
            (#"{"a":["b"]}"#, #"{"a":"c"}"#, #"{"a":"c"}"#), (#"{"a":"c"}"#, #"{"a":["b"]}"#, #"{"a":["b"]}"#),
            (#"{"a":{"b":"c"}}"#, #"{"a":{"b":"d","c":null}}"#, #"{"a":{"b":"d"}}"#),
            (#"{"a":[{"b":"c"}]}"#, #"{"a":[1]}"#, #"{"a":[1]}"#), (#"["a","b"]"#, #"["c","d"]"#, #"["c","d"]"#),
            (#"{"a":"b"}"#, #"["c"]"#, #"["c"]"#), (#"{"a":"foo"}"#, "null", "null"),
            (#"{"a":"foo"}"#, #""bar""#, #""bar""#),
            (#"{"e":null}"#, #"{"a":1}"#, #"{"e":null,"a":1}"#), ("[1,2]", #"{"a":"b","c":null}"#, #"{"a":"b"}"#),
            ("{}", #"{"a":{"bb":{"ccc":null}}}"#, #"{"a":{"bb":{}}}"#),
            (#"{"x":1.50,"y":2,"z":3}"#, #"{"y":2.0}"#, #"{"x":1.50,"y":2.0,"z":3}"#),
            (#"{"a":1,"b":2,"a":3}"#, #"{"a":4}"#, #"{"b":2,"a":4}"#),
            (#"{"a":1,"b":2,"a":3}"#, #"{"a":null}"#, #"{"b":2}"#),
            (#"{"a":1}"#, #"{"a":null,"a":2}"#, #"{"a":2}"#), (#"{"a":1}"#, #"{"a":2,"a":null}"#, "{}"),
        ])
    func merge(document: String, patch: String, expected: String) throws {
        let result = JSONMergePatch.apply(try JSONValue(parsing: patch), to: try JSONValue(parsing: document))
        #expect(result.description == expected)
    }

    @Test func `A merge patch of nothing makes an object without nulls`() throws {
        let patch = try JSONValue(parsing: #"{"a":{"b":null,"c":1}}"#)
        #expect(JSONMergePatch.apply(patch, to: nil).description == #"{"a":{"c":1}}"#)
    }

    @Test(
        "Patches follow RFC 6902 appendix A",
        arguments: [
            (#"{"foo":"bar"}"#, #"[{"op":"add","path":"/baz","value":"qux"}]"#, #"{"foo":"bar","baz":"qux"}"#),
            (
                #"{"foo":["bar","baz"]}"#, #"[{"op":"add","path":"/foo/1","value":"qux"}]"#,
                #"{"foo":["bar","qux","baz"]}"#
            ),
            (#"{"baz":"qux","foo":"bar"}"#, #"[{"op":"remove","path":"/baz"}]"#, #"{"foo":"bar"}"#),
            (#"{"foo":["bar","qux","baz"]}"#, #"[{"op":"remove","path":"/foo/1"}]"#, #"{"foo":["bar","baz"]}"#),
            (
                #"{"baz":"qux","foo":"bar"}"#, #"[{"op":"replace","path":"/baz","value":"boo"}]"#,
                #"{"baz":"boo","foo":"bar"}"#
            ),
            (
                #"{"foo":{"bar":"baz","waldo":"fred"},"qux":{"corge":"grault"}}"#,
                #"[{"op":"move","from":"/foo/waldo","path":"/qux/thud"}]"#,
                #"{"foo":{"bar":"baz"},"qux":{"corge":"grault","thud":"fred"}}"#
            ),
            (
                #"{"foo":["all","grass","cows","eat"]}"#, #"[{"op":"move","from":"/foo/1","path":"/foo/3"}]"#,
                #"{"foo":["all","cows","eat","grass"]}"#
            ),
            (
                #"{"foo":"bar"}"#, #"[{"op":"add","path":"/child","value":{"grandchild":{}}}]"#,
                #"{"foo":"bar","child":{"grandchild":{}}}"#
            ),
            (
                #"{"/":9,"~1":10}"#, #"[{"op":"test","path":"/~01","value":10.0},{"op":"remove","path":"/~1"}]"#,
                #"{"~1":10}"#
            ),
            (
                #"{"foo":["bar"]}"#, #"[{"op":"add","path":"/foo/-","value":["abc","def"]}]"#,
                #"{"foo":["bar",["abc","def"]]}"#
            ),
            (#"{"a":1.0}"#, #"[{"op":"copy","from":"/a","path":"/b","ignored":1}]"#, #"{"a":1.0,"b":1.0}"#),
            (#"{"a":1}"#, #"[{"op":"add","path":"","value":[]}]"#, "[]"),
            (#"[1]"#, #"[{"op":"replace","path":"/0","value":null}]"#, "[null]"),
            (#"{"":{"":1}}"#, #"[{"op":"replace","path":"//","value":2}]"#, #"{"":{"":2}}"#), ("[1]", "[]", "[1]"),
            (#"{"a":1}"#, #"[{"op":"move","from":"/a","path":"/a"}]"#, #"{"a":1}"#),
        ])
    func patch(document: String, patch: String, expected: String) throws {
        let result = try JSONPatch(JSONValue(parsing: patch)).apply(to: JSONValue(parsing: document))
        #expect(result.description == expected)
    }

    @Test(
        "An operation that does not fit fails with its index",
        arguments: [
            #"{"op":"test","path":"/a","value":2}"#, #"{"op":"remove","path":"/b"}"#,
            #"{"op":"replace","path":"/b","value":1}"#,
            #"{"op":"add","path":"/b/c","value":1}"#, #"{"op":"add","path":"/l/3","value":1}"#,
            #"{"op":"add","path":"/l/01","value":1}"#,
            #"{"op":"add","path":"/a/0","value":1}"#, #"{"op":"move","from":"/o","path":"/o/p"}"#,
            #"{"op":"copy","from":"/x","path":"/y"}"#,
            #"{"op":"replace","path":"/l/-","value":1}"#, #"{"op":"remove","path":"/l/2"}"#,
            #"{"op":"test","path":"/l/-","value":1}"#,
        ])
    func failure(operation: String) throws {
        let document = try JSONValue(parsing: #"{"a":1,"l":[1,2],"o":{"p":1}}"#)
        let patch = try JSONPatch(JSONValue(parsing: #"[{"op":"test","path":"/a","value":1.0},\#(operation)]"#))
        let error = #expect(throws: JSONPatchError.self) { try patch.apply(to: document) }
        #expect(error?.kind == .failed)
        #expect(error?.index == 1)
    }

    @Test(
        "What is no patch is malformed",
        arguments: [
            "{}", "[1]", "[{}]", #"[{"op":"add","path":"/a"}]"#, #"[{"op":"add","value":1}]"#,
            #"[{"op":"frob","path":"/a"}]"#,
            #"[{"op":"remove","path":"a"}]"#, #"[{"op":"remove","path":"/~2"}]"#, #"[{"op":"move","path":"/a"}]"#,
            #"[{"op":1,"path":"/a"}]"#,
        ])
    func malformed(patch: String) throws {
        let document = try JSONValue(parsing: patch)
        let error = #expect(throws: JSONPatchError.self) { try JSONPatch(document) }
        #expect(error?.kind == .malformed)
    }

    @Test func `Copies that double a document come to an end`() throws {
        let patch = JSONPatch(Array(repeating: .copy(from: JSONPointer(), to: JSONPointer(tokens: ["-"])), count: 60))
        let error = #expect(throws: JSONPatchError.self) { try patch.apply(to: [1, 2, 3], copyLimit: 100_000) }
        #expect(error?.kind == .tooLarge)
    }

    @Test func `A patch can't nest a document without end`() throws {
        let patch = JSONPatch(Array(repeating: .copy(from: JSONPointer(), to: JSONPointer(tokens: ["a"])), count: 2000))
        let error = #expect(throws: JSONPatchError.self) { try patch.apply(to: [:]) }
        #expect(error?.kind == .tooLarge)
    }

    @Test func `A patch of many steps through a large document comes to an end`() throws {
        let document = JSONValue.object((0..<2000).map { JSONMember("member \($0)", 1) })
        let patch = JSONPatch((0..<2000).map { .replace(JSONPointer(tokens: ["member \($0)"]), 2) })
        let error = #expect(throws: JSONPatchError.self) { try patch.apply(to: document, stepLimit: 1_000_000) }
        #expect(error?.kind == .tooLarge && error?.index == 500)
        #expect(try patch.apply(to: document)["member 1999"] == 2)
    }
}
