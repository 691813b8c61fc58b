import HTTPModel
import Testing

@Suite("Structured fields")
struct StructuredFieldTests {
    @Test(
        "Each kind of item is read and written back",
        arguments: [
            ("42", .integer(42)), ("-0", .integer(0)), ("999999999999999", .integer(999_999_999_999_999)),
            ("1.5", .decimal(thousandths: 1500)), ("-0.125", .decimal(thousandths: -125)),
            ("\"a \\\"b\\\\\"", .string("a \"b\\")), ("\"\"", .string("")), ("foo/bar:*", .token("foo/bar:*")),
            ("*x", .token("*x")), (":aGVsbG8=:", .byteSequence(Array("hello".utf8))), ("::", .byteSequence([])),
            ("?1", .boolean(true)), ("?0", .boolean(false)), ("@1659578233", .date(1_659_578_233)), ("@-1", .date(-1)),
            ("%\"f%c3%bc%25 x\"", .displayString("fü% x")),
        ] as [(String, SFBareItem)])
    func items(text: String, expected: SFBareItem) {
        #expect(SFItem(parsing: text) == SFItem(expected))
        if text != "-0" { #expect(expected.serialized == text) }
    }

    @Test(
        "What breaks a rule fails as a whole",
        arguments: [
            "", "1 2", "1,2", "-", "1.", ".5", "1.2345", "1234567890123456", "1234567890123.1", "\"a", "\"\\x\"",
            "\"\u{7f}\"",
            "\"é\"", ":a*:", ":aGVsbG8", "?2", "?", "@1.5", "@", "%\"%C3%BC\"", "%\"%c3\"", "%\"%zz\"", "%x", "&a",
            "a;B=1", "a;",
            "a; =1", "\ta",
        ])
    func refusedItems(text: String) {
        #expect(SFItem(parsing: text) == nil)
    }

    @Test(
        "Lists and inner lists are written in the canonical way",
        arguments: [
            ("a,b ,\tc", "a, b, c"), ("", ""), ("  a  ", "a"), ("(\"x\"   \"y\");q=1.0, ()", "(\"x\" \"y\");q=1.0, ()"),
            ("a;x;y=?1;z=?0;x=2", "a;x=2;y;z=?0"), ("1.50", "1.5"), (":aGVsbG8:", ":aGVsbG8=:"),
        ])
    func lists(text: String, expected: String) {
        #expect(SFList(parsing: text)?.serialized == expected)
    }

    @Test("Broken lists fail", arguments: ["a,", "a,,b", ",a", "(a", "(a,b)", "(a)b", "a b", "(\"a\"\"b\")"])
    func refusedLists(text: String) {
        #expect(SFList(parsing: text) == nil)
    }

    @Test(
        "Dictionaries keep the first place and the last value of a name",
        arguments: [
            ("a=1, b;x=2, c=(1 2)", "a=1, b;x=2, c=(1 2)"), ("a=1,b=2,a=3", "a=3, b=2"), ("a=?1", "a"),
            ("a=?0", "a=?0"),
            ("", ""),
        ])
    func dictionaries(text: String, expected: String) {
        #expect(SFDictionary(parsing: text)?.serialized == expected)
    }

    @Test("Broken dictionaries fail", arguments: ["a=", "A=1", "a=1,", "a =1", "a= 1", "=1", "a=1 b=2", "1=a"])
    func refusedDictionaries(text: String) {
        #expect(SFDictionary(parsing: text) == nil)
    }

    @Test(
        "A value that has no text is not written",
        arguments: [
            .integer(1_000_000_000_000_000), .decimal(thousandths: 1_000_000_000_000_000), .string("é"), .string("\n"),
            .token(""), .token("1a"), .token("a b"),
        ] as [SFBareItem])
    func unwritable(value: SFBareItem) {
        #expect(value.serialized == nil)
    }

    @Test func `Targeted cache directives are a structured dictionary`() {
        let targeted = CacheControl(
            targeted: "max-age=60, no-cache=\"set-cookie\", must-revalidate, no-store=?0, x=(1)")
        #expect(targeted?.maxAge == 60)
        #expect(targeted?.noCacheFields == ["set-cookie"])
        #expect(targeted?.mustRevalidate == true)
        #expect(targeted?.noStore == false)
    }

    @Test(
        "A targeted field that is broken or empty does not count",
        arguments: ["", "max-age=60,", "Max-Age=60", "max-age=\"60"])
    func brokenTargeted(text: String) {
        #expect(CacheControl(targeted: text) == nil)
    }

    @Test(
        "A targeted lifetime that is no integer is 0",
        arguments: ["max-age=1.5", "max-age=\"60\"", "max-age=-1", "max-age"])
    func targetedLifetime(text: String) {
        #expect(CacheControl(targeted: text)?.maxAge == 0)
    }
}
