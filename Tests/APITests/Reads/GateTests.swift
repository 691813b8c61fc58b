import API
import CacheCore
import HTTPModel
import Synchronization
import TestSupport
import Testing

@Suite("Gate and hot path", .timeLimit(.minutes(1)))
struct GateTests {
    let fixture = ReadFixture()

    @Test(
        "hosts",
        arguments: [
            ("localhost", 200), ("LOCALHOST:99", 200), ("127.0.0.1:8080", 200), ("[::1]:8080", 200), ("cache.lan", 200),
            ("cache.lan:80", 200), ("10.0.0.5:1", 200), ("evil.test", 421), ("localhost.evil.test", 421), ("", 421),
        ])
    func hosts(host: String, status: Int) async throws {
        fixture.settings.update { settings in
            settings.allowedHosts = ["Cache.lan"]
            settings.listenHosts = ["10.0.0.5"]
        }
        try await fixture.know("/a", "x")
        _ = await fixture.ask("/resources/a")
        #expect(await fixture.ask("/resources/a", ["Host": host]).status == status)
        #expect((fixture.hot("/resources/a", [("Host", host)]) != nil) == (status == 200))
    }

    @Test(
        "a target that names no host is judged by the Host field", arguments: [("localhost", 404), ("evil.test", 421)])
    func otherForms(host: String, status: Int) async {
        for target in ["*", "resources/a", "localhost:80"] {
            #expect(await fixture.ask(target, ["Host": host]).status == status)
        }
        #expect(await fixture.ask("http://evil.test/resources/a", ["Host": host]).status == 421)
    }

    @Test(
        "web origins",
        arguments: [
            ("http://localhost:8080", 200), ("https://app.test", 200), ("null", 403), ("https://evil.test", 403),
        ])
    func origins(origin: String, status: Int) async throws {
        fixture.settings.update { $0.allowedOrigins = ["https://app.test"] }
        try await fixture.know("/a", "x")
        #expect(await fixture.ask("/resources/a", ["Origin": origin]).status == status)
        #expect(fixture.hot("/resources/a", [("Host", "localhost"), ("Origin", origin)]) == nil)
    }

    @Test("a cross-site request without Origin is refused")
    func crossSite() async throws {
        try await fixture.know("/a", "x")
        #expect(await fixture.ask("/resources/a", ["Sec-Fetch-Site": "cross-site"]).status == 403)
        #expect(await fixture.ask("/resources/a", ["Sec-Fetch-Site": "same-origin"]).status == 200)
    }

    @Test(
        "access tokens, on the hot path too",
        arguments: [
            (nil as String?, 401), ("wrong", 401), ("full", 200), ("read", 200),
        ])
    func tokens(token: String?, status: Int) async throws {
        try await fixture.know("/a", "x")
        _ = await fixture.ask("/resources/a")
        fixture.settings.update { settings in
            settings.accessTokens = [
                AccessToken(secret: "full", isReadOnly: false), AccessToken(secret: "read", isReadOnly: true),
            ]
        }
        var fields = HTTPFields()
        fields["Holdfast-Token"] = token
        let answer = await fixture.ask("/resources/a", fields)
        #expect(answer.status == status)
        let raw = [("Host", "cache.elsewhere")] + (token.map { [("Holdfast-Token", $0)] } ?? [])
        #expect((fixture.hot("/resources/a", raw) != nil) == (status == 200))
    }

    @Test(
        "the challenge of a 401 names what is taken there",
        arguments: [
            ("/resources/a", "Holdfast-Token"), ("/files/a", "Holdfast-Token"), ("/openapi.yaml", "Holdfast-Token"),
            ("/cache", "Bearer"), ("/metrics", "Bearer"),
        ])
    func challenge(path: String, scheme: String) async {
        fixture.settings.update { $0.accessTokens = [AccessToken(secret: "full", isReadOnly: false)] }
        let answer = await fixture.ask(path)
        #expect(answer.status == 401 && answer.fields["WWW-Authenticate"] == "\(scheme) realm=\"holdfast\"")
        let isTaken = await fixture.ask(path, ["Authorization": "Bearer full"]).status != 401
        #expect(isTaken == (scheme == "Bearer"))
    }

    @Test("a read-only token may not write; open pages need none")
    func readOnly() async {
        fixture.settings.update { $0.accessTokens = [AccessToken(secret: "read", isReadOnly: true)] }
        #expect(await fixture.ask("/resources/a", ["Holdfast-Token": "read"], method: .put, body: "{}").status == 403)
        #expect(await fixture.ask("/health").status == 200)
        #expect(await fixture.ask("/cache").status == 401)
        #expect(await fixture.ask("/cache", ["Authorization": "Bearer read"]).text == "readOnly")
    }

    @Test("a request that has been here is a loop")
    func loop() async {
        let answer = await fixture.ask("/resources/a", ["Via": "1.1 proxy, 1.1 holdfast"])
        #expect(answer.status == 502)
        #expect(answer.text.contains("/problems/loop"))
    }

    @Test(
        "what is refused is a problem",
        arguments: [
            ("/nowhere", 404), ("/resources/a/../b", 400), ("/resources/a?saveIfOffline=maybe", 400),
        ])
    func problems(target: String, status: Int) async {
        let answer = await fixture.ask(target)
        #expect(answer.fields["Content-Type"] == "application/problem+json")
        if target.contains("saveIfOffline") {
            #expect(await fixture.ask(target, method: .put, body: "{}").status == status)
        } else {
            #expect(answer.status == status)
        }
    }

    @Test("a policy that is none is 400")
    func badPolicy() async {
        #expect(await fixture.ask("/resources/a", ["Sync-Policy": "fetch-policy=SOMETIMES"]).status == 400)
    }

    @Test("a full view is offered what is asked for again, not what is asked for once")
    func full() async throws {
        try await fixture.know("/a", "stored")
        fixture.view.isFull.withLock { $0 = true }
        _ = await fixture.ask("/resources/a")
        #expect(fixture.hot("/resources/a") == nil)
        _ = await fixture.ask("/resources/a")
        #expect(fixture.hot("/resources/a") != nil)
    }

    @Test("a published hit answers with Age and Cache-Status, and 304 where the tag is known")
    func hit() async throws {
        try await fixture.know("/a", "stored", ["ETag": "\"1\""], age: 10)
        #expect(fixture.hot("/resources/a") == nil)
        _ = await fixture.ask("/resources/a")
        fixture.clock.advance(by: 5)
        let hit = try #require(fixture.hot("/resources/a"))
        #expect(hit.hasPrefix("HTTP/1.1 200 OK\r\n"))
        #expect(hit.contains("\r\nAge: 15\r\n"))
        #expect(hit.contains("\r\nCache-Status: Holdfast; hit; ttl=45\r\n"))
        #expect(hit.contains("\r\nContent-Length: 6\r\n"))
        #expect(hit.contains("\r\nX-Content-Type-Options: nosniff\r\n"))
        #expect(hit.hasSuffix("\r\n\r\nstored"))
        let local = ("Host", "localhost")
        let same = try #require(fixture.hot("/resources/a", [local, ("If-None-Match", "\"1\"")]))
        #expect(same.hasPrefix("HTTP/1.1 304 Not Modified\r\n"))
        #expect(same.hasSuffix("\r\n\r\n"))
        #expect(fixture.hot("/resources/a", [local, ("If-None-Match", "\"0\"")]) == nil)
        fixture.clock.advance(by: 45)
        #expect(fixture.hot("/resources/a") == nil)
    }

    @Test("the 304 of a published hit has each field of the answer but those of content and server (RFC 9110 15.4.5)")
    func notModifiedFields() async throws {
        try await fixture.know(
            "/a", "stored",
            [
                "ETag": "\"1\"", "Content-Type": "text/plain", "Last-Modified": "Thu, 01 Jan 1970 00:00:00 GMT",
                "Server": "a", "Accept-Ranges": "bytes", "X-Other": "1",
            ], age: 10)
        _ = await fixture.ask("/resources/a")
        func names(_ answer: String) -> Set<String> {
            let head = answer.split(separator: "\r\n", omittingEmptySubsequences: false).dropFirst().prefix { $0 != "" }
            return Set(head.map { String($0.prefix { $0 != ":" }) })
        }
        let whole = names(try #require(fixture.hot("/resources/a")))
        let fields = [("Host", "localhost"), ("If-None-Match", "\"1\"")]
        let notModified = names(try #require(fixture.hot("/resources/a", fields)))
        #expect(notModified.contains("ETag"))
        let left: Set = ["Content-Type", "Content-Length", "Last-Modified", "Server", "Accept-Ranges"]
        #expect(whole.isSuperset(of: left) && notModified == whole.subtracting(left))
    }

    @Test(
        "what could change the answer takes the slow way",
        arguments: [
            ("Authorization", "Bearer unknown"), ("Cookie", "a=b"), ("Range", "bytes=0-1"),
            ("Cache-Control", "no-cache"),
            ("Sync-Policy", "fetch-policy=FETCH_FROM_SERVICE"), ("X-Api-Key", "x"), ("Connection", "close"),
        ])
    func slowWay(name: String, value: String) async throws {
        try await fixture.know("/a", "stored", ["ETag": "\"1\""])
        _ = await fixture.ask("/resources/a")
        #expect(fixture.hot("/resources/a") != nil)
        #expect(fixture.hot("/resources/a", [("Host", "localhost"), (name, value)]) == nil)
    }
}
