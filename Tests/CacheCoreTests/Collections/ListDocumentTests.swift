import HTTPModel
import Testing

@testable import CacheCore

@Suite("Lists as documents")
struct ListDocumentTests {
    private func document(
        _ text: String, at target: String = "/items", items: String = "", item: String = "",
        base: String = "http://origin.test"
    ) -> ListDocument? {
        var rule = CollectionRule.byDefault
        rule.items = items
        rule.item = item
        return ListDocument(Array(text.utf8), at: Target(unchecked: target), rule: rule, originBase: base)
    }

    private func targets(_ list: ListDocument?) -> [String?] { list?.members.map { $0.target?.text } ?? [] }

    @Test("an array at the top names its members by their ids, as strings or numbers")
    func array() {
        let list = document(" [ {\"id\":1}, {\"id\":\"a b\"},{\"name\":\"none\"},7 ] ", at: "/items?x=1")
        #expect(targets(list) == ["/items/1", "/items/a%20b", nil, nil])
    }

    @Test("a pointer leads to the array")
    func pointed() {
        let list = document("{\"meta\":{\"n\":1},\"data\":[{\"id\":\"x\"}]}", at: "/v1/records/", items: "/data")
        #expect(targets(list) == ["/v1/records/x"])
        #expect(document("{\"data\":{}}", items: "/data") == nil)
    }

    @Test("parallel arrays name their members by URIs, from the host, from the base, or absolute")
    func parallel() {
        let text = """
            {"items":[1,2,3,4,5],"uris":["/api/a","b","http://o/api/c?x=1","http://else/d","/e"],
            "etags":["\\"1\\"","2","","a\\u000ab","\\"5\\""],"properties":{"n":1}}
            """
        let list = document(text, base: "http://o/api")
        #expect(targets(list) == ["/a", "/b", "/c?x=1", nil, "/e"])
        #expect(list?.isParallel == true)
        #expect(list?.members.map(\.etag) == ["\"1\"", "2", nil, nil, "\"5\""])
    }

    @Test("what is no list of any form, or no JSON, is none")
    func none() {
        for text in ["{}", "3", "", "[", "[1,]", "[1] x", "{\"items\":[1],\"uris\":[],\"etags\":[]}", "[\"\u{1}\"]"] {
            #expect(document(text) == nil, "\(text)")
        }
    }

    @Test("ids keep their bytes, whatever script they are in")
    func unicode() {
        let ids = ["♪♫", "a/b", "e\u{301}", "\u{e9}", "\\ud83d\\ude00"]
        let list = document("[" + ids.map { "{\"id\":\"\($0)\"}" }.joined(separator: ",") + "]")
        #expect(
            targets(list) == [
                "/items/%E2%99%AA%E2%99%AB", "/items/a%2Fb", "/items/e%CC%81", "/items/%C3%A9", "/items/%F0%9F%98%80",
            ])
    }

    @Test("ids that servers take for another place name nothing")
    func dots() {
        let list = document(#"[{"id":"."},{"id":".."},{"id":"..."},{"id":"../x"}]"#)
        #expect(targets(list) == [nil, nil, "/items/...", "/items/..%2Fx"])
    }

    @Test("changes keep the order, the exact text of the others and all around the members")
    func changes() throws {
        let text = "{ \"n\" : 1.50, \"data\": [ {\"id\":1, \"p\":1e2},{\"id\":2},{\"id\":3} ], \"end\":true }"
        let list = try #require(document(text, items: "/data", item: "/data"))
        var changes = ListChanges()
        changes.members[Target(unchecked: "/items/2")] = .removed
        changes.members[Target(unchecked: "/items/3")] = .replaced(
            representation: Array("{\"data\":{\"id\":3,\"q\":0.10}}".utf8), tag: "\"hf-1\"")
        changes.additions = [
            .init(
                target: Target(unchecked: "/items/hf-1"), representation: Array("{\"data\":{\"id\":\"hf-1\"}}".utf8),
                tag: "\"hf-2\"")
        ]
        #expect(
            String(decoding: list.text(with: changes), as: UTF8.self)
                == "{ \"n\" : 1.50, \"data\": ["
                + "{\"id\":1, \"p\":1e2},{\"id\":3,\"q\":0.10},{\"id\":\"hf-1\"}], \"end\":true }")
    }

    @Test("parallel arrays change together")
    func parallelChanges() throws {
        let list = try #require(document("{\"uris\":[\"/a\",\"/b\"],\"items\":[{},{}],\"etags\":[\"1\",\"2\"]}"))
        var changes = ListChanges()
        changes.members[Target(unchecked: "/a")] = .removed
        changes.additions = [
            .init(target: Target(unchecked: "/c"), representation: Array("{\"v\":1}".utf8), tag: "\"hf-\"")
        ]
        #expect(
            String(decoding: list.text(with: changes), as: UTF8.self)
                == "{\"uris\":[\"/b\",\"/c\"],\"items\":[{},{\"v\":1}],\"etags\":[\"2\",\"\\\"hf-\\\"\"]}")
    }

    @Test("an edit that is no object of this collection leaves the member as it was")
    func unshowable() throws {
        let list = try #require(document("[{\"id\":1}]", item: "/data"))
        var changes = ListChanges()
        changes.members[Target(unchecked: "/items/1")] = .replaced(representation: Array("text".utf8), tag: "\"\"")
        #expect(list.text(with: changes) == Array("[{\"id\":1}]".utf8))
    }

    @Test("a member's own representation is wrapped as the rule says")
    func representation() throws {
        let list = try #require(document("[{\"id\":1,\"p\":1.0}]", item: "/data/a"))
        let member = try #require(Array(list.members).first)
        #expect(
            String(decoding: list.representation(of: member), as: UTF8.self)
                == "{\"data\":{\"a\":{\"id\":1,\"p\":1.0}}}")
    }
}
