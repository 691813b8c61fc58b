import HTTPModel
import Testing

@Suite("HTTP dates")
struct HTTPDateTests {
    private static let now = 1_784_000_000.0  // July 2026

    @Test(
        "The three forms of RFC 9110 5.6.7 are read, small slips forgiven",
        arguments: [
            ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777), ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
            ("Sun Nov  6 08:49:37 1994", 784_111_777), ("sun, 06 NOV 1994 08:49:37 gmt", 784_111_777),
            ("Sun 06 Nov 1994 08:49:37 UTC", 784_111_777), ("Sun, 6  Nov  1994 8:49:37 GMT", 784_111_777),
            ("Thu, 01 Jan 1970 00:00:00 GMT", 0), ("Wed, 31 Dec 1969 23:59:59 GMT", -1),
            ("Thu, 29 Feb 2024 12:00:00 GMT", 1_709_208_000), ("Sat, 31 Dec 2016 23:59:60 GMT", 1_483_228_800),
            ("Fri, 31 Dec 9999 23:59:59 GMT", 253_402_300_799),
        ] as [(String, Int64)])
    func read(text: String, seconds: Int64) {
        #expect(HTTPDate(text, now: Self.now)?.seconds == seconds)
    }

    @Test(
        "All else is no date",
        arguments: [
            "", "0", "-1", "Sun, 06 Nov 1994 08:49:37 EST", "Sun, 06 Nov 1994 08:49:37 +0000",
            "Sun, 06 Nov 1994 08:49:37",
            "Sun, 31 Feb 1994 08:49:37 GMT", "Sun, 29 Feb 2023 08:49:37 GMT", "Sun, 06 Nov 1994 24:00:00 GMT",
            "Sun, 06 Nov 1994 08.49.37 GMT", "Sun, 06 Foo 1994 08:49:37 GMT", "Sun, 00 Nov 1994 08:49:37 GMT",
            "1994-11-06T08:49:37Z", "Sun, 06 Nov 19940 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 GMT x",
            "Sun, 06 Nov 1994 08:60:37 GMT", "Sun Nov 6 08:49:37 94", "Su, 06 Nov 1994 08:49:37 GMT",
            "Sun, 06 No 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 GM", "Sun, 06 Nov 1994 08:49:37 GMTX",
        ])
    func refused(text: String) {
        #expect(HTTPDate(text, now: Self.now) == nil)
    }

    @Test(
        "A two-digit year is never more than 50 years ahead",
        arguments: [("26", "2026"), ("76", "2076"), ("77", "1977"), ("99", "1999"), ("00", "2000")])
    func shortYear(short: String, year: String) {
        let date = HTTPDate("Monday, 01-Feb-\(short) 00:00:00 GMT", now: Self.now)
        #expect(date?.text.contains(" \(year) ") == true)
    }

    @Test(
        "A date is written as IMF-fixdate",
        arguments: [
            (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"), (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
            (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT"), (-1, "Wed, 31 Dec 1969 23:59:59 GMT"),
        ] as [(Int64, String)])
    func written(seconds: Int64, text: String) {
        #expect(HTTPDate(seconds: seconds).text == text)
    }

    @Test func `What is written is read again, over four centuries`() {
        for seconds in stride(from: Int64(-6_000_000_000), to: 8_000_000_000, by: 86_400 * 97 + 3_607) {
            #expect(HTTPDate(HTTPDate(seconds: seconds).text, now: Self.now)?.seconds == seconds)
        }
    }
}
