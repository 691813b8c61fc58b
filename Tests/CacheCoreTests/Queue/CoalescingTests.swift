import CacheCore
import HTTPModel
import TestSupport
import Testing

@Suite("Coalescing")
struct CoalescingTests {
    let bench = QueueBench()

    @Test("PUT onto PUT becomes one at the later place; either key means it")
    func putOntoPut() async throws {
        try await bench.read("/items/1", "{}", etag: "\"1\"")
        let first = try await bench.write(.put, "/items/1", #"{"v":1}"#, key: "k1")
        let second = try await bench.write(.put, "/items/1", #"{"v":2}"#, key: "k2")
        #expect(bench.queue.unfinished().map(\.id) == [second.id])
        #expect(second.sequence > first.sequence)
        #expect(second.keyRound == 2)
        #expect(try await bench.store.operation(first.id)?.supersededBy == second.id)
        let again = try await bench.write(.put, "/items/1", #"{"v":2}"#, key: "k2")
        let older = try await bench.write(.put, "/items/1", #"{"v":1}"#, key: "k1")
        #expect(again.id == second.id && older.id == second.id)
    }

    @Test("PATCH onto PUT becomes one PUT")
    func patchOntoPut() async throws {
        try await bench.write(.put, "/items/1", #"{"a":1}"#)
        let merged = try await bench.write(.patch, "/items/1", #"{"b":2}"#, type: "application/merge-patch+json")
        #expect(merged.method == .put)
        #expect(try await bench.text(merged.body) == #"{"a":1,"b":2}"#)
        #expect(bench.queue.unfinished().count == 1)
    }

    @Test("PATCH onto PATCH stays two, in order")
    func patchOntoPatch() async throws {
        try await bench.read("/items/1", "{}", etag: "\"1\"")
        try await bench.write(.patch, "/items/1", #"{"a":1}"#, type: "application/merge-patch+json")
        try await bench.write(.patch, "/items/1", #"{"b":2}"#, type: "application/merge-patch+json")
        #expect(bench.queue.unfinished().count == 2)
        #expect(try await bench.shown("/items/1") == #"{"a":1,"b":2}"#)
    }

    @Test("an edit of a pending create merges into it, without the temporary id")
    func editOntoCreate() async throws {
        let create = try await bench.write(.post, "/items", #"{"name":"x"}"#)
        let target = try #require(create.temporaryTarget?.text)
        let shown = try #require(try await bench.shown(target))
        let merged = try await bench.write(.put, target, shown.replacing("\"x\"", with: "\"y\""))
        #expect(merged.kind == .create && merged.method == .post)
        #expect(try await bench.text(merged.body) == #"{"name":"y"}"#)
    }

    @Test("DELETE onto a create removes both: nothing is sent")
    func deleteOntoCreate() async throws {
        let create = try await bench.write(.post, "/items", "{}")
        let target = try #require(create.temporaryTarget)
        let delete = try await bench.write(.delete, target.text)
        #expect(delete.state == .delivered && delete.lastAnswer?.status == 204)
        #expect(bench.queue.unfinished().isEmpty)
        #expect(try await bench.claimOne() == nil)
        #expect(bench.queue.resolve(target, of: .none) == .gone)
    }

    @Test("DELETE onto a create that others name waits behind it")
    func deleteOntoNamedCreate() async throws {
        let create = try await bench.write(.post, "/items", "{}")
        let target = try #require(create.temporaryTarget?.text)
        try await bench.write(.put, "/other", #"{"of":"\#(target.split(separator: "/").last ?? "")"}"#)
        let delete = try await bench.write(.delete, target)
        #expect(delete.state == .pending)
        #expect(bench.queue.unfinished().count == 3)
    }

    @Test("DELETE onto PUT becomes the DELETE with its base")
    func deleteOntoPut() async throws {
        try await bench.read("/items/1", "{}", etag: "\"1\"")
        try await bench.write(.put, "/items/1", #"{"a":1}"#)
        let delete = try await bench.write(.delete, "/items/1")
        #expect(bench.queue.unfinished().map(\.method) == [.delete])
        #expect(delete.precondition == .ifMatch("\"1\""))
    }

    @Test("what is under way is not merged into")
    func sentIsLeftAlone() async throws {
        try await bench.write(.put, "/items/1", #"{"a":1}"#)
        _ = try await bench.claimOne()
        try await bench.write(.put, "/items/1", #"{"a":2}"#)
        #expect(bench.queue.unfinished().count == 2)
    }
}
