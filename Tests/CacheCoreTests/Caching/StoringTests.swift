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

    @Test("4.3.1: tags and dates go back byte for byte; invalidated copies ask without them")
    func conditions() {
        let copy = makeCopy(["ETag": "a", "Last-Modified": "Sun, 06 Nov 1994 08:49:37 GMT"])
        #expect(
            Validation.conditionalFields(for: [copy])
                == ["If-None-Match": "a", "If-Modified-Since": "Sun, 06 Nov 1994 08:49:37 GMT"])
        #expect(Validation.conditionalFields(for: [makeCopy(["ETag": "\"a\""], isExpired: true)]).isEmpty)
    }

    @Test("3.2: a 304 updates fields but not those bound to the bytes")
    func refreshing() {
        let copy = makeCopy(["ETag": "\"a\"", "Content-Type": "text/plain", "X": "1", "Age": "9"], isExpired: true)
        let fresh = Validation.refreshed(
            copy, by: ["X": "2", "Content-Type": "text/html", "Content-Length": "0", "Set-Cookie": "a=b"],
            requestTime: 2000, responseTime: 2001, epoch: 2)
        #expect(fresh.fields["X"] == "2")
        #expect(fresh.fields["Content-Type"] == "text/plain")
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
        func applies(_ value: String, etag: String = "\"a\"") -> Bool {
            Conditional.rangeApplies(request: ["If-Range": value], etag: etag, lastModified: Self.old, now: 2e9)
        }
        #expect(applies("\"a\"") && applies(Self.old))
        #expect(!applies("W/\"a\"", etag: "W/\"a\"") && !applies(Self.new))
    }
}
