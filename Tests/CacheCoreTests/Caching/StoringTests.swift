import CacheCore
import HTTPModel
import Testing

@Suite("Storing, selecting and validating (RFC 9111 3, 4.1, 4.3)")
struct StoringTests {
    @Test(
        "3: what may be stored",
        arguments: [
            (200, [:], true, nil), (200, ["Cache-Control": "no-store"], false, "NO_STORE"),
            (200, ["Cache-Control": "no-store, must-understand"], false, nil),
            (200, ["Cache-Control": "private"], true, "PRIVATE"), (200, ["Cache-Control": "private"], false, nil),
            (302, [:], false, "NO_FRESHNESS"), (302, ["Cache-Control": "max-age=5"], false, nil),
            (404, [:], false, nil), (500, ["Cache-Control": "max-age=5"], false, "STATUS"),
            (206, [:], false, "PARTIAL"),
        ] as [(Int, HTTPFields, Bool, String?)])
    func storing(status: Int, fields: HTTPFields, isShared: Bool, reason: String?) {
        let decision = Storability.mayStore(
            method: .get, requestFields: [:], status: status, fields: fields, policy: Policy(), isShared: isShared,
            isDelimited: true)
        #expect(decision == StoreDecision(store: reason == nil, reason: reason))
    }

    @Test(
        "3: which errors may be given again",
        arguments: [
            (500, ["Cache-Control": "max-age=5"], true), (500, [:], false), (501, [:], true), (405, [:], true),
            (599, ["Cache-Control": "public"], true), (503, ["Cache-Control": "max-age=5, no-store"], false),
            (500, ["Cache-Control": "max-age=5, private"], false), (401, ["Cache-Control": "max-age=5"], false),
            (429, ["Cache-Control": "max-age=5"], false), (200, ["Cache-Control": "max-age=5"], false),
            (500, ["Cache-Control": "max-age=5, must-understand"], false),
        ] as [(Int, HTTPFields, Bool)])
    func errors(status: Int, fields: HTTPFields, expected: Bool) {
        func mayRepeat(_ method: HTTPMethod) -> Bool {
            Storability.mayRepeat(
                method: method, requestFields: [:], status: status, fields: fields, policy: Policy(), isShared: true,
                isDelimited: true)
        }
        #expect(mayRepeat(.get) == expected)
        #expect(!mayRepeat(.head))
    }

    @Test("4.1: requests that mean the same select the same variant")
    func selecting() {
        let request: HTTPFields = ["Accept-Encoding": "gzip, br;q=1.0", "Foo": "1, 2"]
        let copy = makeCopy(
            ["Vary": "Foo, Accept-Encoding"],
            selecting: Selecting.fields(vary: ["Foo, Accept-Encoding"], request: request))
        #expect(Selecting.choose([copy], request: ["accept-encoding": "BR,gzip", "foo": "1,2"]) != nil)
        #expect(Selecting.choose([copy], request: ["accept-encoding": "gzip", "foo": "1,2"]) == nil)
        let any = makeCopy([:], selecting: Selecting.fields(vary: ["*"], request: request))
        #expect(Selecting.choose([any], request: request) == nil)
    }

    @Test("4: of the copies that match the most recent by Date is chosen, an invalidated one last")
    func mostRecent() {
        let old = makeCopy(["Date": date(900)], at: 1000)
        let new = makeCopy(["Date": date(990)], at: 995, selecting: [HTTPField("foo", "1")])
        let invalid = makeCopy(["Date": date(995)], at: 996, isExpired: true)
        #expect(Selecting.choose([old, new, invalid], request: ["Foo": "1"]) == new)
        #expect(Selecting.choose([old, new, invalid], request: ["Foo": "2"]) == old)
        #expect(Selecting.choose([invalid], request: [:]) == invalid)
        let later = makeCopy(["Date": date(900), "X-A": "1"], at: 1001)
        #expect(Selecting.choose([later, old], request: [:]) == later)
        // Of clocks ahead of ours only the order of arrival tells.
        let ahead = makeCopy(["Date": date(5000)], at: 1000)
        let next = makeCopy(["Date": date(4000)], at: 1001)
        #expect(Selecting.choose([next, ahead], request: [:]) == next)
    }

    @Test("a copy is decided where no other that goes before it varies by other fields")
    func decided() {
        let any = makeCopy(["Date": date(900)])
        let one = makeCopy(["Date": date(990)], selecting: [HTTPField("foo", "1")])
        let two = makeCopy(["Date": date(990)], selecting: [HTTPField("foo", "2")])
        #expect(Selecting.isDecided(any, among: [any]))
        #expect(!Selecting.isDecided(any, among: [one, any]))
        #expect(Selecting.isDecided(one, among: [one, any]))
        #expect(Selecting.isDecided(two, among: [one, two, any]))
    }

    @Test("4.3.1: tags and dates go back byte for byte; invalidated copies ask without them")
    func conditions() {
        let copy = makeCopy(["ETag": "a", "Last-Modified": "Sun, 06 Nov 1994 08:49:37 GMT"])
        #expect(
            Validation.conditionalFields(for: [copy], request: [:])
                == ["If-None-Match": "a", "If-Modified-Since": "Sun, 06 Nov 1994 08:49:37 GMT"])
        #expect(Validation.conditionalFields(for: [makeCopy(["ETag": "\"a\""], isExpired: true)], request: [:]).isEmpty)
    }

    @Test("4.3.1: a date speaks for the selected variant alone, tags for all")
    func variants() {
        let old = "Sun, 06 Nov 1994 08:49:37 GMT"
        let one = makeCopy(["Last-Modified": old], selecting: [HTTPField("foo", "1")])
        let two = makeCopy(["ETag": "\"2\""], selecting: [HTTPField("foo", "2")])
        func asked(_ foo: String) -> HTTPFields {
            Validation.conditionalFields(for: [two, one], request: ["Foo": foo])
        }
        #expect(asked("1") == ["If-Modified-Since": old])
        #expect(asked("2") == ["If-None-Match": "\"2\""])
        #expect(asked("3") == ["If-None-Match": "\"2\""])
    }

    @Test(
        "4.3.4: which variant a 304 confirms",
        arguments: [
            (["ETag": "\"1\""], "1"), (["ETag": "W/\"2\""], "2"), (["ETag": "\"3\""], nil), ([:], nil),
            (["Last-Modified": "Sun, 06 Nov 1994 08:49:37 GMT"], "2"), (["Last-Modified": "x"], nil),
        ] as [(HTTPFields, String?)])
    func confirming(fields: HTTPFields, expected: String?) {
        let copies = ["1", "2"].map { name in
            makeCopy(
                ["ETag": "\"\(name)\"", "Last-Modified": "Sun, 06 Nov 1994 08:49:37 GMT"],
                selecting: [HTTPField("foo", name)])
        }
        let confirmed = Validation.confirmed(copies, by: fields, request: ["Foo": "2"])
        #expect(confirmed?.selecting.first?.value == expected)
        #expect(Validation.confirmed([copies[0]], by: [:], request: ["Foo": "1"]) != nil)
    }

    @Test(
        "4.3.5: an answer to HEAD refreshes what agrees with it and expires the rest",
        arguments: [
            (["ETag": "\"a\"", "Content-Length": "0"], true), ([:], true), (["ETag": "\"b\""], false),
            (["Content-Length": "1"], false), (["Last-Modified": "Sun, 06 Nov 1994 08:49:37 GMT"], false),
        ] as [(HTTPFields, Bool)])
    func heads(fields: HTTPFields, agrees: Bool) throws {
        var fields = fields
        fields["X"] = "new"
        let copies = [
            makeCopy(["ETag": "\"a\"", "X": "old"]), makeCopy(["ETag": "\"c\""], selecting: [HTTPField("foo", "1")]),
        ]
        let judged = Validation.judged(
            copies, byHead: fields, request: [:], requestTime: 2000, responseTime: 2000, epoch: 1, isShared: true,
            targetedFields: [])
        let copy = try #require(judged.first)
        #expect(judged.count == 1)
        #expect(copy.isExpired == !agrees && copy.fields["X"] == (agrees ? "new" : "old"))
    }

    @Test("3.2: a 304 updates fields but not those bound to the bytes")
    func refreshing() {
        let copy = makeCopy(
            ["ETag": "\"a\"", "Content-Type": "text/plain", "Content-Encoding": "gzip", "X": "1", "Age": "9"],
            isExpired: true)
        let fresh = Validation.refreshed(
            copy,
            by: [
                "X": "2", "Content-Type": "text/html", "Content-Encoding": "br", "Content-Length": "0",
                "Set-Cookie": "a=b",
            ],
            request: [:], requestTime: 2000, responseTime: 2001, epoch: 2)
        #expect(fresh.fields["X"] == "2")
        #expect(fresh.fields["Content-Type"] == "text/html")
        #expect(fresh.fields["Content-Encoding"] == "gzip")
        #expect(!fresh.fields.contains("Age") && !fresh.fields.contains("Set-Cookie"))
        #expect(!fresh.isExpired && fresh.responseTime == 2001 && fresh.epoch == 2)
    }
}

@Suite("Preconditions (RFC 9110 13)")
struct ConditionalTests {
    private static let old = "Sun, 06 Nov 1994 08:49:37 GMT"
    private static let new = "Sun, 06 Nov 2011 08:49:37 GMT"

    @Test(
        "13.2.2: precedence",
        arguments: [
            (["If-Match": "\"x\", \"a\""], HTTPMethod.put, .proceed), (["If-Match": "W/\"a\""], .put, .failed),
            (["If-None-Match": "W/\"a\""], .get, .notModified), (["If-None-Match": "*"], .put, .failed),
            (["If-None-Match": "\"b\"", "If-Modified-Since": new], .get, .proceed),
            (["If-Modified-Since": new], .get, .notModified), (["If-Modified-Since": "soon"], .get, .proceed),
            (["If-Match": "\"a\"", "If-Unmodified-Since": old], .put, .proceed),
            (["If-Unmodified-Since": "Sun, 06 Nov 1983 08:49:37 GMT"], .put, .failed),
        ] as [(HTTPFields, HTTPMethod, Conditional.Verdict)])
    func precedence(request: HTTPFields, method: HTTPMethod, expected: Conditional.Verdict) {
        #expect(
            Conditional.evaluate(
                request: request, method: method, etag: "\"a\"", lastModified: Self.old, exists: true, now: 2e9)
                == expected)
    }

    @Test("13.1.5: If-Range compares strongly")
    func ifRange() {
        func applies(_ value: String, etag: String = "\"a\"", date: String? = nil) -> Bool {
            Conditional.rangeApplies(
                request: ["If-Range": value], etag: etag, lastModified: Self.old, date: date, now: 2e9)
        }
        #expect(applies("\"a\"") && applies(Self.old))
        #expect(!applies("W/\"a\"", etag: "W/\"a\"") && !applies(Self.new))
        // What was current in its own second may have been followed within it.
        #expect(applies(Self.old, date: Self.new) && !applies(Self.old, date: Self.old))
    }
}
