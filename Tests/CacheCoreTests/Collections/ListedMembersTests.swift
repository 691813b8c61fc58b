import HTTPModel
import Testing

@testable import CacheCore

@Suite("Members that lists tell of")
struct ListedMembersTests {
    private let key = EntryKey(partition: .none, target: Target(unchecked: "/items/1"))

    private func listed(_ tag: String? = nil, at time: Double = 1000) -> ServerCopy {
        var fields: HTTPFields = ["Content-Type": "application/json"]
        fields["ETag"] = tag
        return makeCopy(fields, at: time, isListed: true)
    }

    private func changes(_ entry: inout Entry, _ change: (inout Entry) -> Bool) {
        let isChanged = change(&entry)
        #expect(isChanged)
    }

    private func changesNothing(_ entry: inout Entry, _ change: (inout Entry) -> Bool) {
        let before = entry
        let isChanged = change(&entry)
        #expect(!isChanged && entry == before)
    }

    @Test("a listed copy never takes the place of a copy of the entry's own")
    func own() {
        var entry = Entry(key: key, copies: [makeCopy(["ETag": "\"1\""], at: 900)])
        changesNothing(&entry) { $0.take(listed: listed()) }
        changesNothing(&entry) { $0.take(listed: listed("\"1\"")) }
        #expect(entry.copies.first?.isListed == false)
    }

    @Test("another tag in a newer list expires the entry's own copy")
    func outdated() {
        var entry = Entry(key: key, copies: [makeCopy(["ETag": "\"1\""], at: 900)])
        changesNothing(&entry) { $0.take(listed: listed("\"2\"", at: 800)) }
        changes(&entry) { $0.take(listed: listed("\"2\"")) }
        #expect(entry.copies.map(\.etag) == ["\"1\""])
        #expect(entry.copies.first?.isExpired == true)
    }

    @Test("what was gone before the list is there again; what is gone since stays so")
    func gone() {
        var entry = Entry(key: key, copies: [.gone(at: 900, epoch: 1)])
        changes(&entry) { $0.take(listed: listed()) }
        #expect(entry.copies.map(\.status) == [200])
        entry.copies = [.gone(at: 1100, epoch: 1)]
        changesNothing(&entry) { $0.take(listed: listed()) }
    }

    @Test("an older list changes nothing, and the same member nothing either")
    func unchanged() {
        var entry = Entry(key: key)
        changes(&entry) { $0.take(listed: listed()) }
        changesNothing(&entry) { $0.take(listed: listed(at: 1001)) }
        changesNothing(&entry) { $0.take(listed: listed("\"1\"", at: 999)) }
    }

    @Test("what a whole list lacks expires, or is gone unless it came after the list was asked for")
    func dropped() {
        var entry = Entry(key: key, copies: [makeCopy(["ETag": "\"1\""], at: 900)])
        var copy = entry
        changes(&copy) { $0.drop(gone: nil) }
        #expect(copy.copies.first?.isExpired == true && copy.copies.first?.status == 200)
        changesNothing(&copy) { $0.drop(gone: nil) }
        changesNothing(&entry) { $0.drop(gone: .gone(at: 899, epoch: 1)) }
        changes(&entry) { $0.drop(gone: .gone(at: 1000, epoch: 1)) }
        #expect(entry.copies.map(\.status) == [404])
    }

    @Test(
        "a list is whole without a query and without a next page",
        arguments: [
            ("/items", HTTPFields(), true), ("/items?x=1", HTTPFields(), false), ("/items?", HTTPFields(), false),
            ("/items", ["Link": "</items?page=2>; rel=next"], false),
            ("/items", ["Link": "</items>; rel=\"self\""], true), ("/items", ["Next-Page": "/items?page=2"], false),
        ] as [(String, HTTPFields, Bool)])
    func whole(target: String, fields: HTTPFields, isWhole: Bool) {
        #expect(
            ListedMembers.isWhole(Target(unchecked: target), fields: fields, urlFields: ["Next-Page"]) == isWhole)
    }

    @Test("a member is one segment below its collection, without a query")
    func member() {
        for (target, isMember) in [
            ("/items/1", true), ("/items/", false), ("/items", false), ("/items/1/x", false), ("/items/1?x", false),
            ("/itemsx/1", false),
        ] {
            #expect(Target(unchecked: target).isMember(ofPath: "/items") == isMember, "\(target)")
            #expect(Target(unchecked: target).isMember(ofPath: "/items/") == isMember, "\(target)")
        }
    }
}
