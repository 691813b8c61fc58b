import CacheCore
import HTTPModel
import TestSupport
import Testing

/// What lists ask of the queue at each read: it must say the same as a look at all that is edited.
@Suite struct `Edits by collection` {
    private let bench = QueueBench()

    private func shows(at path: String) -> Bool { bench.queue.hasEdits(ofMembersAt: path[...], of: .none) }

    @Test func `An edit shows in the list that holds its target, until it is delivered`() async throws {
        let operations = [
            try await bench.write(.put, "/a/items/1", "{}"), try await bench.write(.delete, "/a/items/2"),
        ]
        for (index, operation) in operations.enumerated() {
            #expect(shows(at: "/a/items") && shows(at: "/a/items/") && bench.queue.hasEdits(of: .none))
            for other in ["", "/", "/a", "/a/item", "/a/items/1", "/a/items/1/", "/a/items/2", "a/items"] {
                #expect(!shows(at: other), "\(other), \(index)")
            }
            _ = try #require(try await bench.claimOne())
            try await bench.deliver(operation.id)
        }
        #expect(!shows(at: "/a/items") && !bench.queue.hasEdits(of: .none))
    }

    @Test func `A create shows among the members of its collection, and where it became real no more`() async throws {
        let create = try await bench.write(.post, "/items", "{}")
        #expect(shows(at: "/items") && bench.queue.hasEdits(of: .none))
        _ = try #require(try await bench.claimOne())
        try await bench.deliver(create.id, newTarget: "/items/1")
        #expect(!shows(at: "/items") && !bench.queue.hasEdits(of: .none))
    }

    @Test func `An action and a target with a query are members of nothing`() async throws {
        try await bench.write(.post, "/items/1", "{}", kind: .action)
        #expect(!shows(at: "/items") && !bench.queue.hasEdits(of: .none))
        try await bench.write(.put, "/items/2?part=a/b", "{}")
        #expect(!shows(at: "/items") && bench.queue.hasEdits(of: .none))
    }

    @Test func `What is discarded or found at the start counts like what comes and goes`() async throws {
        let operation = try await bench.write(.put, "/items/1", "{}")
        let again = try await bench.restarted()
        #expect(again.hasEdits(ofMembersAt: "/items", of: .none) && again.hasEdits(of: .none))
        _ = try await bench.queue.discard(operation.id, cascade: false)
        #expect(!shows(at: "/items") && !bench.queue.hasEdits(of: .none))
    }
}
