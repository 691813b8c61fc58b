import HTTPModel
import Testing

@Suite struct `Tags decorated for a content coding` {
    @Test(
        arguments: [
            ("\"a-gzip\"", "\"a\""), ("\"a-br\"", "\"a\""), ("W/\"a;gzip\"", "W/\"a\""), ("\"a\"", nil),
            ("\"-gzip\"", nil),
            ("\"a-gzip", nil),
        ] as [(String, String?)])
    func `The plain one is the tag without the ending`(tag: String, plain: String?) {
        #expect(EncodedTag.plain(tag) == plain)
    }

    @Test func `It names the same representation, weak or not`() {
        #expect(EncodedTag.same("\"a-gzip\"", "W/\"a\""))
        #expect(!EncodedTag.same("\"a-gzip\"", "\"b\""))
    }
}
