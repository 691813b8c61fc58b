import CacheCore
import Testing

@Suite struct `Requests for actions` {
    private static func read(_ text: String) throws -> ActionRequest {
        try ActionRequest(json: JSONValue(parsing: Array(text.utf8)))
    }

    static let requests = [
        #"{"type":"refresh","pattern":"/items/**"}"#,
        #"{"type":"save"}"#,
    ]

    @Test(arguments: requests) func `What was read is written as it was`(text: String) throws {
        #expect(try Self.read(text).json().description == text)
    }

    @Test func `A refresh without a pattern is of all`() throws {
        #expect(try Self.read(#"{"type":"refresh"}"#) == .refresh(PathPattern("/**")))
    }

    static let refused = [
        "[]", "{}", #"{"type":"dance"}"#, #"{"type":7}"#, #"{"type":"save","pattern":"/a"}"#,
        #"{"type":"refresh","pattern":7}"#, #"{"type":"refresh","pattern":"items"}"#,
    ]

    @Test(arguments: refused) func `What is none is refused and says why`(text: String) throws {
        let problem = #expect(throws: Problem.self) { try Self.read(text) }
        #expect(problem?.code == .badJSON)
        #expect(problem?.detail.hasPrefix("This is no action: ") == true)
    }

    private static let patterns = [
        (store: "default", paths: [PathPattern("/**")]), (store: "a", paths: [PathPattern("/a/**")]),
        (store: "deep", paths: [PathPattern("/a/*/deep"), PathPattern("/z")]),
    ]

    @Test(arguments: [
        ("/**", ["default", "a", "deep"]), ("/a/**", ["a", "deep"]), ("/a/1", ["a"]), ("/b/**", ["default"]),
        ("/a/x/deep", ["a", "deep"]), ("/z", ["deep"]), ("/*", ["default", "a", "deep"]),
    ])
    func `A refresh is of the stores that may have what it covers`(pattern: String, stores: [String]) {
        #expect(ActionRequest.refresh(PathPattern(pattern)).stores(among: Self.patterns) == stores)
    }

    @Test func `Saving is of all stores`() {
        #expect(ActionRequest.save.stores(among: Self.patterns) == ["default", "a", "deep"])
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
