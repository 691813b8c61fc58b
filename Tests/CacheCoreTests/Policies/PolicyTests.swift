import CacheCore
import HTTPModel
import Testing

@Suite("Policies, targets and identities (design 1, 2, 10)")
struct PolicyTests {
    @Test(
        "Patterns: * is one segment, a trailing ** any rest",
        arguments: [
            ("/items/*", "/items/1", true), ("/items/*", "/items/1/2", false), ("items/**", "/items", true),
            ("/items/**", "/items/1/2", true), ("/items/**", "/itemsX", false), ("**", "", true),
            ("/a", "/a/", false), ("/a%2Fb", "/a/b", false),
        ])
    func patterns(pattern: String, path: String, expected: Bool) {
        #expect(PathPattern(pattern).matches(path[...]) == expected)
    }

    @Test("Sync-Policy takes words in any case; what it does not know is named")
    func syncPolicy() throws {
        let layer = try PolicyLayer(
            syncPolicyField: "fetch-policy=fetch-from-cache, expire-after=60, guard=?0, queue-on-status=(502 503)")
        #expect(layer.fetchPolicy == .fetchFromCache && layer.expireAfter == 60 && layer.guardsWrites == false)
        #expect(layer.queueOnStatus == [502, 503] && layer.withoutFetchPolicy.fetchPolicy == nil)
        let problem = #expect(throws: Problem.self) { try PolicyLayer(syncPolicyField: "fetch-policy=soon") }
        #expect(problem?.code == .badPolicy && problem?.detail.contains("HTTP_CACHE") == true)
        #expect(throws: Problem.self) { try PolicyLayer(syncPolicyField: "colour=red") }
    }

    @Test(
        "A name in Sync-Policy that is written as in JSON is told how it is written there",
        arguments: [
            ("fetchPolicy=FETCH_FROM_CACHE", "write fetch-policy"), ("guard=?0, noCache", "write no-cache"),
            ("queueOnStatus=(502 503)", "write queue-on-status"), ("guard=?2", "structured dictionary"),
        ])
    func camelCase(field: String, hint: String) {
        let problem = #expect(throws: Problem.self) { try PolicyLayer(syncPolicyField: field) }
        #expect(problem?.code == .badPolicy && problem?.detail.contains(hint) == true)
    }

    @Test("The table gives the first match over the default, and reads what it writes")
    func table() throws {
        let json = try JSONValue(
            parsing: """
                [{"path":"/a/*","expireAfter":"60","noCache":"true"},{"path":"/a/**","expireAfter":5}]
                """)
        let table = try PolicyTable(json: json, defaultJSON: ["fetchPolicy": "FETCH_FROM_CACHE"])
        let layer = table.layer(for: Target(unchecked: "/a/1?x"))
        #expect(layer.expireAfter == 60 && layer.noCache == true && layer.fetchPolicy == .fetchFromCache)
        #expect(try PolicyTable(json: table.json(), defaultJSON: nil) == table)
    }

    @Test(
        "Targets stay byte for byte, without the flags",
        arguments: [
            ("/resources/a%2Fb?z=1&a=2", "/a%2Fb?z=1&a=2"), ("/files", ""), ("/resources/100%?", "/100%?"),
            ("/resources/a?saveIfOffline=true", "/a"), ("/resources/a?x&saveIfOffline=true&y=", "/a?x&y="),
            ("http://h:1/resources/a", "/a"), ("/resources/a//b", "/a//b"),
        ])
    func targets(raw: String, expected: String) throws {
        let parsed = try ParsedTarget.parse(rawTarget: raw, method: .put, fields: [:], reservedParameters: true)
        #expect(parsed?.target.text == expected)
    }

    @Test(
        "Targets that could mean something else upstream are refused",
        arguments: [
            "/resources//a", "/resources/a/../b", "/resources/%2e%2E/b", "/resources/a\\b", "/resources/a b",
            "/resources/a?saveIfOffline=maybe", "/resources/a?deleteIfOffline", "/resources/.",
        ])
    func badTargets(raw: String) {
        let problem = #expect(throws: Problem.self) {
            try ParsedTarget.parse(rawTarget: raw, method: .get, fields: [:], reservedParameters: true)
        }
        #expect(problem?.code == .badTarget)
    }

    @Test("Other paths are not taken")
    func otherPaths() throws {
        for raw in ["/cache", "/resourcesX", "/"] {
            #expect(
                try ParsedTarget.parse(rawTarget: raw, method: .get, fields: [:], reservedParameters: true) == nil)
        }
    }
}
