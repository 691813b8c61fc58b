import CacheCore
import Testing

@Suite("What an edit leaves in a document")
struct EditTraceTests {
    private func json(_ text: String) throws -> JSONValue { try JSONValue(parsing: text) }

    @Test(
        "a replacement is seen where all that it changed has that value",
        arguments: [
            (#"{"a":1,"b":2}"#, #"{"a":1,"b":1}"#, #"{"b":2,"c":9}"#, true),
            (#"{"a":1,"b":2}"#, #"{"a":1,"b":1}"#, #"{"a":1,"b":1}"#, false),
            (#"{"a":{"x":1,"y":2}}"#, #"{"a":{"x":1}}"#, #"{"a":{"x":5,"y":2.0}}"#, true),
            (#"{"a":1}"#, #"{"a":1,"b":2}"#, #"{"a":7}"#, true),
            (#"{"a":1}"#, #"{"a":1,"b":2}"#, #"{"a":1,"b":2}"#, false),
            (#"{"a":1}"#, #"{"a":1}"#, #"{"a":1,"n":0}"#, true),
            (#"{"a":{"0":5}}"#, #"{"a":{}}"#, #"{"a":[5]}"#, false),
        ])
    func replacement(sent: String, base: String, target: String, isLeft: Bool) throws {
        let trace = EditTrace.ofReplacement(try json(sent), base: try json(base))
        #expect(trace.isLeft(in: try json(target)) == isLeft)
    }

    @Test(
        "a merge patch is seen by its values, one that only removes by what is gone",
        arguments: [
            (#"{"a":1,"b":null}"#, #"{"a":1,"b":7}"#, true), (#"{"a":1}"#, #"{"a":2}"#, false),
            (#"{"b":null,"c":{"d":null}}"#, #"{"c":{"x":1}}"#, true), (#"{"b":null}"#, #"{"b":1}"#, false),
            (#"{"b":{"c":null}}"#, #"{}"#, true), ("{}", "{}", true),
        ])
    func mergePatch(patch: String, target: String, isLeft: Bool) throws {
        #expect(EditTrace.ofMergePatch(try json(patch)).isLeft(in: try json(target)) == isLeft)
    }

    @Test(
        "a JSON patch is seen by the last value at each place",
        arguments: [
            (#"[{"op":"add","path":"/a","value":1},{"op":"replace","path":"/a","value":2}]"#, #"{"a":2}"#, true),
            (
                #"[{"op":"add","path":"/a","value":{"x":1}},{"op":"replace","path":"/a/x","value":2}]"#,
                #"{"a":{"x":2}}"#, true
            ),
            (#"[{"op":"add","path":"/a/x","value":1},{"op":"remove","path":"/a"}]"#, "{}", true),
            (#"[{"op":"remove","path":"/a"}]"#, #"{"a":1}"#, false),
            (#"[{"op":"add","path":"/a","value":{"x":1}},{"op":"remove","path":"/a/x"}]"#, #"{"a":{}}"#, true),
        ])
    func patch(patch: String, target: String, isLeft: Bool) throws {
        #expect(try #require(EditTrace.ofJSONPatch(try json(patch))).isLeft(in: try json(target)) == isLeft)
    }

    @Test(
        "a patch that moves what stands behind it leaves nothing to look for",
        arguments: [
            #"[{"op":"add","path":"/a/0","value":1}]"#, #"[{"op":"remove","path":"/a/3"}]"#,
            #"[{"op":"move","from":"/a","path":"/b"}]"#, #"[{"op":"copy","from":"/a","path":"/b"}]"#, "{}",
        ])
    func undecided(patch: String) throws {
        #expect(EditTrace.ofJSONPatch(try json(patch))?.isLeft(in: [:]) == nil)
    }

    @Test("a document of many members is judged soon", .timeLimit(.minutes(1)))
    func many() {
        func document(_ value: JSONValue) -> JSONValue {
            .object((0..<50_000).map { JSONMember("member \($0)", value) })
        }
        #expect(EditTrace.ofReplacement(document(1), base: document(0)).isLeft(in: document(1)))
    }
}
