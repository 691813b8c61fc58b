import OriginClient
import Testing

@Suite struct OriginOptionsTests {
    @Test(
        "a base is kept without its last slash",
        arguments: [
            ("http://h", "http://h"), ("http://h/", "http://h"), ("https://h:8443/api/", "https://h:8443/api"),
            ("HTTP://127.0.0.1:80", "http://127.0.0.1:80"), ("http://[::1]:8080/a%2Fb//", "http://[::1]:8080/a%2Fb"),
        ])
    func kept(_ text: String, _ base: String) throws {
        #expect(try OriginBase(text).text == base)
    }

    @Test(
        "a wrong base is refused",
        arguments: [
            "", "h", "//h", "ftp://h", "http://", "http://u:p@h", "http://h?q", "http://h/#f", "http://h/ a",
            "http://h/ä",
            "http://h:99999", "unix:/s",
        ])
    func refused(_ text: String) {
        #expect(throws: OriginBaseError.self) { try OriginBase(text) }
    }

    @Test func `The refusal of a base says what is allowed`() {
        do {
            _ = try OriginBase("ftp://h")
            Issue.record("taken")
        } catch {
            #expect(error.description.contains("\"ftp://h\"") && error.description.contains("https"))
        }
    }
}
