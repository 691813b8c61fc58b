import CacheCore
import Testing

@Suite struct `Requests for actions` {
    private static func read(_ text: String) throws -> ActionRequest {
        try ActionRequest(json: JSONValue(parsing: Array(text.utf8)))
    }

    static let requests = [
        #"{"type":"refresh","pattern":"/items/**"}"#,
        #"{"type":"save"}"#,
        #"{"type":"prefetch","targets":["/a","?x=%2F","","/é"]}"#,
        #"{"type":"prefetch","collection":"/items?sort=name","pin":"high"}"#,
        #"{"type":"prefetch","document":"/feed","links":"/entries/*/url","pin":"normal"}"#,
        #"{"type":"verify"}"#,
        #"{"type":"verify","store":"ann"}"#,
        #"{"type":"reconcile","store":"ann"}"#,
        #"{"type":"export","file":"a.ndjson"}"#,
        #"{"type":"export","file":"/x/a.ndjson","partitions":"all"}"#,
        #"{"type":"import","file":"a.ndjson"}"#,
    ]

    @Test(arguments: requests) func `What was read is written as it was`(text: String) throws {
        #expect(try Self.read(text).json().description == text)
    }

    @Test func `A refresh without a pattern is of all`() throws {
        #expect(try Self.read(#"{"type":"refresh"}"#) == .refresh(PathPattern("/**")))
    }

    static let refused = [
        "[]", "{}", #"{"type":"dance"}"#, #"{"type":7}"#, #"{"type":"save","pattern":"/a"}"#,
        #"{"type":"refresh","pattern":7}"#, #"{"type":"refresh","pattern":"items"}"#, #"{"type":"prefetch"}"#,
        #"{"type":"prefetch","targets":[]}"#, #"{"type":"prefetch","targets":"/a"}"#,
        #"{"type":"prefetch","targets":["/a"],"collection":"/b"}"#, #"{"type":"prefetch","document":"/a"}"#,
        #"{"type":"prefetch","document":"/a","links":"b"}"#, #"{"type":"prefetch","collection":"/a","links":"/b"}"#,
        #"{"type":"prefetch","targets":["/a"],"pin":"low"}"#, #"{"type":"verify","store":""}"#,
        #"{"type":"export"}"#, #"{"type":"export","file":"a\u0000.ndjson"}"#, #"{"type":"import","file":7}"#,
        #"{"type":"export","file":"a.ndjson","partitions":"mine"}"#,
    ]

    @Test(arguments: refused) func `What is none is refused and says why`(text: String) throws {
        let problem = #expect(throws: Problem.self) { try Self.read(text) }
        #expect(problem?.code == .badJSON)
        #expect(problem?.detail.hasPrefix("This is no action: ") == true)
    }

    @Test(arguments: ["7", #""items""#, #""/a/../b""#, #""//else""#])
    func `A target is checked as one of a request is`(target: String) throws {
        let problem = #expect(throws: Problem.self) { try Self.read(#"{"type":"prefetch","collection":\#(target)}"#) }
        #expect(problem?.code == .badTarget)
    }

    private static let patterns = [
        (store: "default", paths: [PathPattern("/**")]), (store: "a", paths: [PathPattern("/a/**")]),
        (store: "deep", paths: [PathPattern("/a/*/deep"), PathPattern("/z")]),
    ]

    @Test(arguments: [
        ("/**", ["default", "a", "deep"]), ("/a/**", ["a", "deep"]), ("/a/1", ["a"]), ("/b/**", ["default"]),
        ("/a/x/deep", ["a", "deep"]), ("/z", ["deep"]), ("/*", ["default", "a", "deep"]),
    ])
    func `A refresh is of the stores that may have what it covers`(pattern: String, stores: [String]) throws {
        #expect(try ActionRequest.refresh(PathPattern(pattern)).stores(among: Self.patterns) == stores)
    }

    @Test(arguments: [
        (#"{"type":"prefetch","targets":["/a/1","/b","/a/x/deep?y"]}"#, ["default", "a", "deep"]),
        (#"{"type":"prefetch","targets":["/a/1","/a/2"]}"#, ["a"]),
        (#"{"type":"prefetch","collection":"/a/x"}"#, ["a", "deep"]),
        (#"{"type":"prefetch","collection":"/b/?p=2"}"#, ["default"]),
        (#"{"type":"prefetch","document":"/b","links":""}"#, ["default", "a", "deep"]),
        (#"{"type":"verify","store":"a"}"#, ["a"]), (#"{"type":"reconcile"}"#, ["default", "a", "deep"]),
        (#"{"type":"save"}"#, ["default", "a", "deep"]),
    ])
    func `Others are of the stores that they name or that have what they name`(text: String, stores: [String]) throws {
        #expect(try Self.read(text).stores(among: Self.patterns) == stores)
    }

    @Test func `A store that is not attached is refused`() throws {
        let request = try Self.read(#"{"type":"verify","store":"none"}"#)
        let problem = #expect(throws: Problem.self) { try request.stores(among: Self.patterns) }
        #expect(problem?.code == .notFound)
    }

    @Test(arguments: [
        ("/**", "/a/**", true), ("/a/**", "/a", true), ("/a/*", "/a/**", false), ("/a/*/**", "/a/**", false),
        ("/a/*", "/a/b", true), ("/a/b", "/a/*", false), ("/a/**", "/b", false),
    ])
    func `A pattern covers another where it matches all that the other one does`(
        one: String, other: String, expected: Bool
    ) {
        #expect(PathPattern(one).covers(PathPattern(other)) == expected)
    }

    @Test(arguments: [
        ("/a/**", "/*/b", true), ("/a/**", "/a", true), ("/a/*/**", "/a", false), ("/a/*", "/*/b", true),
        ("/a/b", "/a/c", false), ("/a", "/a/b", false), ("/**", "/x/y/z", true),
    ])
    func `Two patterns overlap where some path matches both`(one: String, other: String, expected: Bool) {
        #expect(PathPattern(one).overlaps(PathPattern(other)) == expected)
        #expect(PathPattern(other).overlaps(PathPattern(one)) == expected)
    }
}
