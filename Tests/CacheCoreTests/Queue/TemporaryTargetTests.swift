import CacheCore
import HTTPModel
import TestSupport
import Testing

@Suite("Temporary targets")
struct TemporaryTargetTests {
    let bench = QueueBench()

    @Test("O03: a chain of creates and edits is sent in order, under real names")
    func chain() async throws {
        let parent = try await bench.write(.post, "/parents", "{}")
        let temporary = try #require(parent.temporaryTarget?.text)
        let child = try await bench.write(.post, temporary + "/children", "{}")
        let childTarget = try #require(child.temporaryTarget?.text)
        #expect(child.dependsOn == [parent.id])
        #expect(try await bench.queue.claim(limit: 9, now: bench.clock.now).map(\.operation.id) == [parent.id])
        try await bench.deliver(parent.id, newTarget: "/parents/7")
        let next = try #require(try await bench.claimOne())
        #expect(next.id == child.id && next.target.text == "/parents/7/children")
        try await bench.deliver(child.id, newTarget: "/parents/7/children/1")
        #expect(
            bench.queue.resolve(Target(unchecked: childTarget), of: .none)
                == .moved(to: Target(unchecked: "/parents/7/children/1")))
    }

    @Test(
        "a target is a temporary one by its last segment, slashes at the end and a query aside",
        arguments: [
            ("/items/ID", true), ("/items/ID//?a=1", true), ("ID", true), ("/items/ID/notes", false),
            ("/items/xID", false), ("/items/IDX", false), ("/items?of=ID", false),
            ("/items/hf-abcdefghijklmnopqrstuvwxyz", false),
        ])
    func recognised(target: String, isTemporary: Bool) {
        let text = target.replacing("ID", with: IDs.temporaryMember())
        #expect(TemporaryTarget.matches(Target(unchecked: text)) == isTemporary)
    }

    @Test("K27: real ids are on disk with the delivery, bodies and numbers included")
    func durableIDs() async throws {
        let parent = try await bench.write(.post, "/parents", "{}")
        let temporary = try #require(parent.temporaryTarget?.text)
        let id = String(temporary.dropFirst("/parents/".count))
        let child = try await bench.write(.put, "/c/1", #"{"parent":"\#(id)","link":"\#(temporary)","n":1.0}"#)
        _ = try await bench.claimOne()
        try await bench.deliver(parent.id, newTarget: "/parents/7", answer: #"{"id":7}"#)
        let queue = try await bench.restarted()
        let kept = try #require(queue.operation(child.id))
        #expect(try await bench.text(kept.body) == #"{"parent":7,"link":"/parents/7","n":1.0}"#)
        #expect(try await queue.claim(limit: 9, now: bench.clock.now).map(\.operation.id) == [child.id])
    }

    @Test("an edit made while the create is under way goes to the real target with its tag")
    func editDuringCreate() async throws {
        let create = try await bench.write(.post, "/items", #"{"a":1}"#)
        let temporary = try #require(create.temporaryTarget?.text)
        _ = try await bench.claimOne()
        try await bench.write(.patch, temporary, #"{"b":2}"#, type: "application/merge-patch+json")
        try await bench.deliver(create.id, etag: "\"1\"", newTarget: "/items/5")
        let edit = try #require(try await bench.claimOne())
        #expect(edit.target.text == "/items/5" && edit.precondition == .ifMatch("\"1\""))
        #expect(bench.queue.localEdit(of: QueueBench.key("/items/5"))?.syncState == "pending-patch")
    }

    @Test("writes to a temporary target that is real go to the real one")
    func lateWrite() async throws {
        let create = try await bench.write(.post, "/items", "{}")
        let temporary = try #require(create.temporaryTarget?.text)
        _ = try await bench.claimOne()
        try await bench.deliver(create.id, newTarget: "/items/5")
        #expect(try await bench.write(.put, temporary, "{}").target.text == "/items/5")
    }

    @Test("without a real target what names it has failed, reason no-target")
    func noTarget() async throws {
        let create = try await bench.write(.post, "/items", "{}")
        let temporary = try #require(create.temporaryTarget)
        let other = try await bench.write(.put, "/x", #"{"of":"\#(temporary.text)"}"#)
        _ = try await bench.claimOne()
        try await bench.deliver(create.id)
        #expect(bench.queue.operation(other.id)?.reason == "no-target")
        #expect(bench.queue.resolve(temporary, of: .none) == .gone)
    }
}
