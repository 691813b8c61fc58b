import HTTPModel
import Testing

@Suite("URLs")
struct URLTests {
    @Test(
        "References resolve as RFC 3986 5.4 lists",
        arguments: [
            ("g:h", "g:h"), ("g", "http://a/b/c/g"), ("./g", "http://a/b/c/g"), ("g/", "http://a/b/c/g/"),
            ("/g", "http://a/g"), ("//g", "http://g"), ("?y", "http://a/b/c/d;p?y"), ("g?y", "http://a/b/c/g?y"),
            ("#s", "http://a/b/c/d;p?q#s"), ("g#s", "http://a/b/c/g#s"), ("g?y#s", "http://a/b/c/g?y#s"),
            (";x", "http://a/b/c/;x"), ("g;x", "http://a/b/c/g;x"), ("", "http://a/b/c/d;p?q"), (".", "http://a/b/c/"),
            ("./", "http://a/b/c/"), ("..", "http://a/b/"), ("../", "http://a/b/"), ("../g", "http://a/b/g"),
            ("../..", "http://a/"), ("../../", "http://a/"), ("../../g", "http://a/g"), ("../../../g", "http://a/g"),
            ("/./g", "http://a/g"), ("/../g", "http://a/g"), ("g.", "http://a/b/c/g."), (".g", "http://a/b/c/.g"),
            ("g..", "http://a/b/c/g.."), ("..g", "http://a/b/c/..g"), ("./../g", "http://a/b/g"),
            ("./g/.", "http://a/b/c/g/"), ("g/./h", "http://a/b/c/g/h"), ("g/../h", "http://a/b/c/h"),
            ("g;x=1/./y", "http://a/b/c/g;x=1/y"), ("g;x=1/../y", "http://a/b/c/y"),
            ("g?y/./x", "http://a/b/c/g?y/./x"),
            ("g#s/../x", "http://a/b/c/g#s/../x"), ("%2e%2E/g", "http://a/b/g"),
        ])
    func rfc3986(reference: String, expected: String) {
        #expect(URLReference(reference).resolved(against: URLReference("http://a/b/c/d;p?q")).text == expected)
    }

    @Test(
        "A Location is resolved against the target it was given for",
        arguments: [
            ("https://other/x", "https://other/x"), ("//other/x", "https://other/x"),
            ("/api/items/7", "https://o/api/items/7"),
            ("7", "https://o/api/items/7"), ("?page=2", "https://o/api/items/?page=2"),
            ("7#part", "https://o/api/items/7"),
            (" 7 ", "https://o/api/items/7"),
        ])
    func location(reference: String, expected: String) {
        #expect(URLReference.resolve(reference, at: "/items/?a=1", under: "https://o/api/") == expected)
    }

    @Test(
        "The target of a URL under the base",
        arguments: [
            ("https://o/api/items/1?x=%20", "https://o/api", "/items/1?x=%20"),
            ("HTTPS://O:443/api/a", "https://o/api/", "/a"),
            ("https://o/api", "https://o/api", ""), ("https://o/api?q", "https://o/api", "?q"),
            ("https://o/api/", "https://o/api", "/"),
            ("http://o:8080/a#f", "http://o:8080", "/a"), ("http://o", "http://o/", ""),
            ("http://[::1]:80/a", "http://[::1]", "/a"),
            ("https://o/api/x/../y", "https://o/api", "/y"), ("https://o/api/é", "https://o/api", "/é"),
            ("https://o/apix", "https://o/api", nil), ("https://o/API/x", "https://o/api", nil),
            ("http://o/api/x", "https://o/api", nil),
            ("https://p/api/x", "https://o/api", nil), ("https://o:444/api/x", "https://o/api", nil),
            ("/api/x", "https://o/api", nil),
            ("https://o/api/../x", "https://o/api", nil), ("https://o/api/%2e%2e/x", "https://o/api", nil),
            ("https://o/api/a b", "https://o/api", nil), ("https://o/api/\r\nX:y", "https://o/api", nil),
            ("https://o@evil/api/x", "https://o/api", nil), ("", "https://o/api", nil),
            ("https://o:x/api/x", "https://o/api", nil),
        ] as [(String, String, String?)])
    func originForm(url: String, base: String, expected: String?) {
        #expect(URLReference.originForm(of: url, under: base) == expected)
    }

    @Test func `A target is put under the base with one slash`() {
        #expect(URLReference.url(of: "/a", under: "http://o/api/") == "http://o/api/a")
        #expect(URLReference.url(of: "?q", under: "http://o/api") == "http://o/api?q")
    }

    @Test(
        "Percent-encoding is undone where it is one",
        arguments: [
            ("a%20b", "a b"), ("%", "%"), ("%4", "%4"), ("%zz%41", "%zzA"), ("%C3%A9", "é"), ("a+b", "a+b"),
            ("x%2", "x%2"),
        ])
    func decode(text: String, expected: String) {
        #expect(Percent.decode(text) == expected)
    }

    @Test func `Bytes that are no text survive decoding and encoding`() {
        #expect(Percent.encode(Percent.decode("%ff%C3")) == "%FF%C3")
        #expect(Percent.encode("a b/é~") == "a%20b%2F%C3%A9~")
        #expect(Percent.encodeSegment("a:b/c%") == "a:b%2Fc%25")
    }

    @Test func `Query parameters keep their bytes and are decoded as forms`() {
        let parameters = QueryParameter.split("a=1&&b=x%3Dy+z&c&%64=%26&=e&f=g=h")
        #expect(parameters.map(\.name) == ["a", "b", "c", "d", "", "f"])
        #expect(parameters.map(\.value) == ["1", "x=y z", "", "&", "e", "g=h"])
        #expect(parameters.map { String($0.raw) } == ["a=1", "b=x%3Dy+z", "c", "%64=%26", "=e", "f=g=h"])
        #expect(QueryParameter.query(of: "/a?b=c?d#e") == "b=c?d")
        #expect(QueryParameter.query(of: "/a#?b") == nil)
    }
}
