import HTTPModel
import Testing

@Suite("Cache-Control")
struct CacheControlTests {
    @Test(
        "A lifetime is read strictly, and what can't be read is 0",
        arguments: [
            ("max-age=60", 60), ("MAX-AGE=\"60\"", 60), ("max-age=003600", 3600), ("max-age=-1", 0), ("max-age=1.5", 0),
            ("max-age=abc", 0), ("max-age", 0), ("max-age=", 0), ("max-age='60'", 0), ("max-age =60", 0),
            ("max-age= 60", 0),
            ("max-age=99999999999999999999", 1 << 31), ("max-age=60, max-age=60", 60), ("max-age=1800, max-age=1", 1),
            ("max-age=1, max-age=1800", 1), ("x=\"max-age=3600\", max-age=1", 1), ("x=\"a\\\", max-age=9\"", nil),
            (" ,\tpublic ,,max-age=5\t,", 5), ("s-maxage=5", nil),
        ] as [(String, Int?)])
    func lifetime(value: String, expected: Int?) {
        #expect(CacheControl(value).maxAge == expected)
    }

    @Test func `Every directive is known`() {
        let answer = CacheControl(
            """
            No-Store, no-cache, private, public, must-revalidate, proxy-revalidate, must-understand, immutable, \
            no-transform, s-maxage=7, stale-while-revalidate=8, stale-if-error=9, future=1
            """)
        #expect(answer.noStore && answer.noCache && answer.isPrivate && answer.isPublic && answer.mustRevalidate)
        #expect(answer.proxyRevalidate && answer.mustUnderstand && answer.immutable && answer.noTransform)
        #expect(answer.sMaxAge == 7 && answer.staleWhileRevalidate == 8 && answer.staleIfError == 9)
        let request = CacheControl("only-if-cached, max-stale, min-fresh=3")
        #expect(request.onlyIfCached && request.maxStale == .any && request.minFresh == 3)
    }

    @Test func `no-cache and private with names hold for those fields only`() {
        let answer = CacheControl(#"no-cache="Set-Cookie, X-A", private=X-B"#)
        #expect(!answer.noCache && answer.noCacheFields == ["set-cookie", "x-a"])
        #expect(!answer.isPrivate && answer.privateFields == ["x-b"])
        #expect(CacheControl(#"no-cache="""#).noCache)
    }

    @Test func `Directives of several lines count together`() {
        let fields: HTTPFields = ["Cache-Control": "max-age=5", "cache-control": "no-store"]
        let answer = CacheControl(response: fields)
        #expect(answer.maxAge == 5 && answer.noStore)
    }

    @Test(
        "Pragma counts in a request without Cache-Control",
        arguments: [
            (["Pragma": "no-cache"], true), (["Pragma": "x, No-Cache"], true), (["Pragma": "x"], false),
            (["Pragma": "no-cache", "Cache-Control": "max-age=1"], false),
        ] as [(HTTPFields, Bool)])
    func pragma(fields: HTTPFields, expected: Bool) {
        #expect(CacheControl(request: fields).noCache == expected)
        #expect(!CacheControl(response: fields).noCache)
    }

    @Test(
        "The smaller staleness counts",
        arguments: [
            ("max-stale=5", .seconds(5)), ("max-stale=5, max-stale=3", .seconds(3)),
            ("max-stale, max-stale=5", .seconds(5)),
            ("max-stale=5, max-stale", .seconds(5)), ("max-stale=x", .seconds(0)), ("", nil),
        ] as [(String, CacheControl.MaxStale?)])
    func maxStale(value: String, expected: CacheControl.MaxStale?) {
        #expect(CacheControl(value).maxStale == expected)
    }
}
