import HTTPModel
import Testing

@testable import CacheCore

@Suite("Sync-Filter and Sync-Sort")
struct MemberQueryTests {
    private func terms(_ filter: String) throws -> [String] {
        try MemberQuery(filter: filter, sort: nil).terms.map {
            "\($0.path.text) \($0.comparison.rawValue) \($0.value)"
        }
    }

    @Test("terms are joined by commas; a path is dotted or a pointer; values are JSON")
    func filter() throws {
        #expect(try terms("price > 10, name = \"x, y\"") == ["/price > 10", "/name = \"x, y\""])
        #expect(try terms("a.b<=1.50,/c~1d/0!=null , e=false") == ["/a/b <= 1.50", "/c~1d/0 != null", "/e = false"])
        #expect(try terms("first name = \"\\\"\"") == ["/first name = \"\\\"\""])
    }

    @Test("keys are joined by commas; a minus turns one around")
    func sort() throws {
        let keys = try MemberQuery(filter: nil, sort: " name, -price ,-/a/b, /first name").keys
        #expect(keys.map(\.path.text) == ["/name", "/price", "/a/b", "/first name"])
        #expect(keys.map(\.isDescending) == [false, true, true, false])
    }

    @Test(
        "what can't be read is refused with what to do",
        arguments: [
            "", " ", "price", "price >", "price > x", "price = 'x'", "> 1", "a..b = 1", "/ = 1", "a = 1,",
            "a = 1 b = 2",
            "a == 1", "a = [1]", "a = {}", "a < true", "a >= null", "a\"b = 1", "a = 1e", "/~2 = 1", "/1/2/3/4 = 1",
            "a = \"\u{10FFFF}\"", Array(repeating: "a=1", count: 33).joined(separator: ","),
        ])
    func refused(filter: String) {
        let problem = #expect(throws: Problem.self) { try MemberQuery(filter: filter, sort: nil) }
        #expect(problem?.code == .badQuery && problem?.status == 400)
    }

    @Test("so is an order", arguments: ["", ",", "name,", "-", "a..b", "a\\b", "/", "name desc", "a, - b"])
    func refused(sort: String) {
        let problem = #expect(throws: Problem.self) { try MemberQuery(filter: nil, sort: sort) }
        #expect(problem?.code == .badQuery)
    }
}
