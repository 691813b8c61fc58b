import HTTPModel
import Testing

@Suite("Field values")
struct FieldValueTests {
    @Test(
        "A media type is read without regard to case",
        arguments: [
            ("application/json", "application/json", true),
            ("Application/JSON; Charset=\"utf-8\"", "application/json", true),
            ("application/problem+json;x", "application/problem+json", true), ("text/html ; a=b", "text/html", false),
            ("application/jsonx", "application/jsonx", false),
            ("application/merge-patch+json", "application/merge-patch+json", true),
        ])
    func mediaType(value: String, essence: String, isJSON: Bool) {
        #expect(MediaType(value)?.essence == essence)
        #expect(MediaType(value)?.isJSON == isJSON)
    }

    @Test func `Parameters of a media type are unquoted and quoted again`() {
        let type = MediaType("text/plain; Charset=UTF-8; title=\"a;\\\"b\"; broken; =x")
        #expect(type?["charset"] == "UTF-8")
        #expect(type?["title"] == "a;\"b")
        #expect(type?.description == "text/plain;charset=UTF-8;title=\"a;\\\"b\"")
    }

    @Test(
        "What is no media type is none",
        arguments: ["", "text", "text/", "/plain", "a/b/c", "te xt/plain", ";a=b", "*"])
    func noMediaType(value: String) {
        #expect(MediaType(value) == nil)
    }

    @Test(
        "A timestamp has milliseconds and is in UTC",
        arguments: [
            (0.0, "1970-01-01T00:00:00.000Z"), (1_784_000_000.123, "2026-07-14T03:33:20.123Z"),
            (-0.5, "1969-12-31T23:59:59.500Z"), (0.9996, "1970-01-01T00:00:01.000Z"),
            (-1.0, "1969-12-31T23:59:59.000Z"),
            (.infinity, "9999-12-31T23:59:59.999Z"), (.nan, "1970-01-01T00:00:00.000Z"),
        ])
    func timestamp(time: Double, text: String) {
        #expect(Timestamp.format(time) == text)
    }

    @Test(
        "Timestamps of any offset and precision are read",
        arguments: [
            ("1970-01-01T00:00:01Z", 1.0), ("1970-01-01t01:00:00.25+01:00", 0.25), ("1969-12-31 19:00:00-05:00", 0.0),
            ("2026-07-14T03:33:20.123456Z", 1_784_000_000.123456),
        ])
    func readTimestamp(text: String, time: Double) {
        #expect(Timestamp.parse(text) == time)
    }

    @Test(
        "What is no timestamp is none",
        arguments: [
            "", "2026-07-14", "2026-07-14T03:33:20", "2026-02-30T00:00:00Z", "2026-07-14T25:00:00Z",
            "2026-07-14T03:33:20.Z",
            "2026-07-14T03:33:20+0100", "x026-07-14T03:33:20Z", "2026-07-14T03:33:20Zx", "2026-07-14T03:33:20+24:00",
        ])
    func noTimestamp(text: String) {
        #expect(Timestamp.parse(text) == nil)
    }

    @Test(
        "Cache-Status tells what was done",
        arguments: [
            (.hit(ttl: 30), "Holdfast; hit; ttl=30"),
            (.hit(ttl: -5, detail: "STALE"), "Holdfast; hit; ttl=-5; detail=STALE"),
            (.forward(.uriMiss, status: 200, stored: true), "Holdfast; fwd=uri-miss; fwd-status=200; stored"),
            (
                CacheStatus(forward: .stale, collapsed: true, key: "a\"é", detail: "two words"),
                "Holdfast; fwd=stale; collapsed; key=\"a\\\"%C3%A9\"; detail=\"two words\""
            ),
        ])
    func cacheStatus(status: CacheStatus, text: String) {
        #expect(status.text == text)
        #expect(SFList(parsing: text) != nil)
    }

    @Test func `Cache-Status is appended behind earlier caches`() {
        #expect(
            CacheStatus.hit().appended(to: ["A; hit", "", " B; fwd=miss "]) == "A; hit, B; fwd=miss, Holdfast; hit")
        #expect(CacheStatus.hit().appended(to: []) == "Holdfast; hit")
    }

    @Test func `Fields of one connection are removed, with those that Connection names`() {
        var fields: HTTPFields = [
            "Connection": "close, X-Hop", "x-hop": "1", "Keep-Alive": "5", "TE": "gzip", "Transfer-Encoding": "chunked",
            "Upgrade": "h2c", "Trailer": "X", "Proxy-Connection": "close", "connection": "X-More", "X-More": "1",
            "Proxy-Authorization": "Basic eA==", "Date": "now",
        ]
        HopByHop.remove(from: &fields)
        #expect(fields.map(\.name) == ["Proxy-Authorization", "Date"])
    }

    @Test(
        "Base64 is written and read",
        arguments: [
            ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="),
            ("\u{3ff}\u{3ff}>?", "z7/Pvz4/"),
        ])
    func base64(plain: String, encoded: String) {
        #expect(Base64.encode(plain.utf8) == encoded)
        #expect(Base64.decode(encoded) == Array(plain.utf8))
        #expect(Base64.decodeURL(Base64.encodeURL(plain.utf8)) == Array(plain.utf8))
    }

    @Test func `Base64 for URLs has other signs and no padding`() {
        #expect(Base64.encodeURL([0xFB, 0xFF, 0xFE, 0xFF]) == "-__-_w")
        #expect(Base64.decodeURL("-__-_w") == [0xFB, 0xFF, 0xFE, 0xFF])
        #expect(Base64.decode("Zg") == Array("f".utf8))
    }

    @Test("What is no Base64 is none", arguments: ["Z", "Zg=", "Zg===", "=", "Z=g=", "Zm9v====", "Z g=", "-_8="])
    func noBase64(text: String) {
        #expect(Base64.decode(text) == nil)
    }

    @Test func `Hexadecimal digits stand for bytes`() {
        #expect(Hex.encode([0x00, 0xAF]) == "00af")
        #expect(Hex.decode("00aF") == [0x00, 0xAF])
        #expect(Hex.decode("0") == nil)
        #expect(Hex.decode("0g") == nil)
    }
}
