import CacheCore
import HTTPModel
import Sync
import Synchronization
import TestSupport
import Testing

@Suite struct `Prefetching` {
    private let fixture = WorkFixture()
    private let fresh: HTTPFields = ["Cache-Control": "max-age=60", "Content-Type": "application/json"]

    private func targets(_ texts: String...) -> PrefetchSource { .targets(texts.map { Target(unchecked: $0) }) }

    private func serve(_ target: String, _ body: String, _ fields: HTTPFields = HTTPFields()) {
        var all = fresh
        for field in fields { all.append(field.name, field.value) }
        fixture.asked.serve(target, body, all)
    }

    @Test func `What is not there or has expired is fetched`() async throws {
        for target in ["/old", "/new", "/fresh"] { serve(target, "{}") }
        try await fixture.know("/old", age: 61)
        try await fixture.know("/fresh", age: 1)
        let (isDone, progress) = try await fixture.run(.prefetch(targets("/old", "/fresh", "/new"), pin: nil))
        #expect(isDone)
        // Some are asked for beside each other.
        #expect(fixture.asked.targets.sorted() == ["/new", "/old"])
        #expect((progress.done, progress.total, progress.fetched, progress.failed) == (3, 3, 2, 0))
    }

    @Test func `With a priority all are pinned, and whoever keeps pins is told once`() async throws {
        serve("/a", "{}")
        try await fixture.know("/b", age: 1)
        var (_, progress) = try await fixture.run(.prefetch(targets("/a", "/b", "/none"), pin: .high))
        #expect((progress.pinned, progress.failed, progress.done) == (3, 1, 3))
        #expect(Set(fixture.pins) == ["/a high", "/b high", "/none high"])
        (_, progress) = try await fixture.run(.prefetch(targets("/a", "/b"), pin: .high))
        #expect(progress.pinned == 0)
        #expect(fixture.pins.count == 3)
    }

    @Test func `Of a collection all pages and all members are fetched`() async throws {
        serve("/items", #"[{"id":1},{"id":"two"}]"#, ["Link": #"</items?page=2>; rel="next""#])
        serve("/items?page=2", #"[{"id":3},{"id":1}]"#, ["Link": #"</items>; rel="next""#])
        for target in ["/items/1", "/items/two", "/items/3"] { serve(target, "{}") }
        let source = PrefetchSource.collection(Target(unchecked: "/items"))
        let (isDone, progress) = try await fixture.run(.prefetch(source, pin: .normal))
        #expect(isDone)
        #expect(Set(fixture.asked.targets) == ["/items", "/items?page=2", "/items/1", "/items/two", "/items/3"])
        #expect((progress.done, progress.total, progress.fetched, progress.pinned) == (5, 5, 5, 5))
    }

    private func pins(_ target: String) async throws -> Pins? {
        try await fixture.fixture.store.entry(EntryKey(partition: .none, target: Target(unchecked: target)))?.pins
    }

    @Test func `What a collection or document leads to is pinned for it, until the next prefetch no longer finds it`()
        async throws
    {
        for target in ["/items/1", "/items/2", "/items/3"] { serve(target, "{}") }
        let items = Target(unchecked: "/items")
        let feed = Target(unchecked: "/feed")
        serve("/items", #"[{"id":1},{"id":2}]"#, ["Link": #"</items?page=2>; rel="next""#])
        serve("/items?page=2", #"[{"id":3}]"#)
        serve("/feed", #"{"url":"/items/2"}"#)
        _ = try await fixture.run(.prefetch(targets("/items/1"), pin: .high))
        _ = try await fixture.run(.prefetch(.collection(items), pin: .normal))
        _ = try await fixture.run(.prefetch(.links(in: feed, try #require(JSONPointer("/url"))), pin: .high))
        #expect(try await pins("/items") == Pins(own: .normal))
        #expect(try await pins("/feed") == Pins(own: .high))
        #expect(try await pins("/items/1") == Pins(own: .high, ancillary: [items: .normal]))
        #expect(try await pins("/items/2") == Pins(ancillary: [items: .normal, feed: .high]))
        #expect(try await pins("/items?page=2") == Pins(ancillary: [items: .normal]))

        serve("/items", "[]")
        fixture.clock.advance(by: 61)
        _ = try await fixture.run(.prefetch(.collection(items), pin: nil))
        #expect(try await pins("/items/3") == Pins(ancillary: [items: .normal]))
        _ = try await fixture.run(.prefetch(.collection(items), pin: .normal))
        #expect(try await pins("/items") == Pins(own: .normal))
        #expect(try await pins("/items/1") == Pins(own: .high))
        #expect(try await pins("/items/2") == Pins(ancillary: [feed: .high]))
        for target in ["/items/3", "/items?page=2"] { #expect(try await pins(target) == Pins()) }
        #expect(fixture.pins.suffix(4).contains("/items/3 none"))
    }

    @Test func `What is no list has no members`() async throws {
        serve("/items", #"{"data":[]}"#)
        let source = PrefetchSource.collection(Target(unchecked: "/items"))
        let problem = await #expect(throws: Problem.self) { try await fixture.run(.prefetch(source, pin: nil)) }
        #expect(problem?.code == .badAnswer)
    }

    @Test func `Of a document what it links to is fetched`() async throws {
        serve("/feed", #"{"items":[{"url":"/a"},{"url":"http://origin.test/b"},{"url":"http://else.test/c"},{}]}"#)
        for target in ["/a", "/b"] { serve(target, "{}") }
        let pointer = try #require(JSONPointer("/items/*/url"))
        let source = PrefetchSource.links(in: Target(unchecked: "/feed"), pointer)
        let (_, progress) = try await fixture.run(.prefetch(source, pin: nil))
        #expect(Set(fixture.asked.targets) == ["/feed", "/a", "/b"])
        #expect((progress.done, progress.total) == (3, 3))
    }

    @Test func `Without anything kept of the document there is nothing to follow`() async throws {
        let source = PrefetchSource.links(in: Target(unchecked: "/none"), JSONPointer())
        let problem = await #expect(throws: Problem.self) { try await fixture.run(.prefetch(source, pin: nil)) }
        #expect(problem?.code == .notCached)
    }

    @Test func `It stops where the origin is away, and passes by afterwards what it has`() async throws {
        for target in ["/a", "/b"] { fixture.asked.serve(target, "{}", ["Cache-Control": "no-cache"]) }
        fixture.asked.onRequest { [network = fixture.fixture.network] target in
            if target == "/b" { network.force(offline: true) }
        }
        let request = ActionRequest.prefetch(targets("/a", "/b"), pin: nil)
        #expect(try await fixture.run(request).isDone == false)
        fixture.fixture.network.force(offline: false)
        #expect(try await fixture.run(request).isDone)
        #expect(fixture.asked.targets.count { $0 == "/a" } == 1)
    }

    @Test(arguments: [
        ("/links", ["/x/a", "/b"]), ("/links/0", ["/x/a"]), ("/by/*", ["/c", "/d"]), ("/by/*/none", []),
        ("/none", []), ("/by/one", ["/c"]),
    ])
    func `Links are found by a pointer in which a star stands for all`(pointer: String, expected: [String]) throws {
        let document = try JSONValue(
            parsing: Array(#"{"links":["a","/b","a",7,"//else/x"],"by":{"one":"/c","two":"/d"}}"#.utf8))
        let found = LinkedTargets.find(
            try #require(JSONPointer(pointer)), in: document, at: Target(unchecked: "/x/doc"),
            originBase: "http://origin.test")
        #expect(found.map(\.text) == expected)
    }
}
