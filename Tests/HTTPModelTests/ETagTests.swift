import HTTPModel
import Testing

@Suite("Entity tags")
struct ETagTests {
    @Test(
        "Comparison follows the table of RFC 9110 8.8.3.2",
        arguments: [
            ("W/\"1\"", "W/\"1\"", false, true), ("W/\"1\"", "W/\"2\"", false, false),
            ("W/\"1\"", "\"1\"", false, true),
            ("\"1\"", "\"1\"", true, true), ("\"1\"", "1", false, false), ("1", "1", true, true),
            ("W/1", "1", false, true),
            ("\"e\u{301}\"", "\"\u{e9}\"", false, false), ("", "", false, false),
        ])
    func comparison(first: String, second: String, strong: Bool, weak: Bool) {
        #expect(ETag(first).strongMatches(ETag(second)) == strong)
        #expect(ETag(first).weakMatches(ETag(second)) == weak)
    }

    @Test(
        "A condition lists tags, with commas in quotes and without quotes",
        arguments: [
            ("\"a\"", ["\"a\""]), ("\"a\", W/\"b\" ,c", ["\"a\"", "W/\"b\"", "c"]),
            ("\"a,b\",\"c\"", ["\"a,b\"", "\"c\""]),
            (", ,\"a\",", ["\"a\""]), ("", []), ("\"a\\\",\"b\"", ["\"a\\\"", "\"b\""]), ("\"open, \"", ["\"open, \""]),
        ])
    func list(value: String, tags: [String]) {
        #expect(EntityTagCondition(value) == .tags(tags.map { ETag($0) }))
    }

    @Test func `A star alone means any representation`() {
        #expect(EntityTagCondition(" * ") == .any)
        #expect(EntityTagCondition.any.matchesStrongly(nil))
        #expect(EntityTagCondition("\"*\"") == .tags([ETag("\"*\"")]))
    }

    @Test func `Lines of one name are one list`() {
        let fields: HTTPFields = ["If-None-Match": "\"a\"", "if-none-match": "W/\"b\""]
        let condition = EntityTagCondition(fields, "If-None-Match")
        #expect(condition?.matchesWeakly(ETag("\"b\"")) == true)
        #expect(condition?.matchesStrongly(ETag("\"b\"")) == false)
        #expect(EntityTagCondition(fields, "If-Match") == nil)
    }

    @Test func `A condition without a tag matches nothing`() {
        #expect(!EntityTagCondition("").matchesStrongly(ETag("\"a\"")))
        #expect(!EntityTagCondition("\"a\"").matchesWeakly(nil))
    }
}
