import CacheCore
import HTTPModel
import TestSupport
import Testing

@Suite("Accepting writes")
struct AcceptanceTests {
    let bench = QueueBench()

    private func code(_ body: () async throws -> Void) async -> ProblemCode? {
        do {
            try await body()
            return nil
        } catch let problem as Problem {
            return problem.code
        } catch { return nil }
    }

    @Test("an accepted write is committed durably and shows at once")
    func durable() async throws {
        try await bench.write(.put, "/items/1", #"{"a":1}"#)
        #expect(bench.store.commits.last?.durable == true)
        #expect(try await bench.shown("/items/1") == #"{"a":1}"#)
        #expect(bench.queue.localEdit(of: QueueBench.key("/items/1"))?.syncState == "pending-update")
    }

    @Test("nothing shows that the store has refused")
    func storeFull() async throws {
        let body = try await bench.store.makeContent([1], for: .operation)
        bench.store.failure = .full
        let draft = WriteDraft(
            key: QueueBench.key("/a"), route: .resources, method: .put, kind: .edit, fields: [:], body: body,
            precondition: .none, policy: Policy(), idempotencyKey: nil, fingerprint: Digest(bytes: [1]))
        #expect(await code { _ = try await bench.queue.accept(draft) } == .storeFull)
        #expect(bench.queue.lane(of: QueueBench.key("/a")) == .empty)
    }

    @Test("the policy that comes with a write stays with its entry from the same commit on, added to what is there")
    func keptPolicy() async throws {
        var kept = PolicyLayer()
        kept.evictionPolicy = .manualEviction
        try await bench.store.commit([.setPolicy(QueueBench.key("/a"), kept)], durable: true)
        let earlier = bench.store.commits.count
        var sent = PolicyLayer()
        sent.expireAfter = 60
        let draft = WriteDraft(
            key: QueueBench.key("/a"), route: .resources, method: .put, kind: .edit, fields: [:],
            body: try await bench.store.makeContent([1], for: .operation), precondition: .none, policy: Policy(),
            keptPolicy: sent, idempotencyKey: nil, fingerprint: Digest(bytes: [1]))
        _ = try await bench.queue.accept(draft)
        #expect(bench.store.commits.count == earlier + 1)
        let layer = try await bench.store.entry(QueueBench.key("/a"))?.policy
        #expect(layer?.expireAfter == 60)
        #expect(layer?.evictionPolicy == .manualEviction)
    }

    @Test("K11: each accepted write counts immediately")
    func depth() async throws {
        try await bench.write(.post, "/items", "{}")
        #expect(bench.queue.counts.pending == 1)
        try await bench.write(.post, "/items", "{}")
        #expect(bench.queue.counts.pending == 2)
    }

    @Test("O11: a repeat under one key gets the first receipt, also at the same time")
    func repeatedKey() async throws {
        async let first = bench.write(.post, "/items", "{}", key: "k")
        async let second = bench.write(.post, "/items", "{}", key: "k")
        let (one, two) = try await (first, second)
        #expect(one.id == two.id)
        #expect(bench.queue.counts.pending == 1)
    }

    @Test("a repeat under the key that a receipt has named means that write, in its partition alone")
    func namedKey() async throws {
        let first = try await bench.write(.put, "/items/1", "{}")
        func found(_ partition: PartitionID) async throws -> OperationID? {
            let found = try await bench.queue.lookUp(
                key: first.idempotencyKey, fingerprint: first.fingerprints[0], of: partition)
            guard case .accepted(let operation) = found else { return nil }
            return operation.id
        }
        #expect(try await found(.none) == first.id)
        #expect(try await found(PartitionID(high: 1, low: 2)) == nil)
    }

    @Test("another request under the same key is refused")
    func reusedKey() async throws {
        try await bench.write(.put, "/items/1", "{}", key: "k")
        #expect(await code { try await bench.write(.put, "/items/2", "{}", key: "k") } == .keyReused)
    }

    @Test("O15: of two writes from one version while offline the second is 412")
    func sameVersionTwice() async throws {
        try await bench.read("/items/1", "{}", etag: "\"1\"")
        try await bench.write(.put, "/items/1", #"{"by":1}"#, if: .ifMatch("\"1\""))
        let second = await code { try await bench.write(.put, "/items/1", #"{"by":2}"#, if: .ifMatch("\"1\"")) }
        #expect(second == .precondition)
    }

    @Test("the effective copy's tag holds and never becomes the origin's precondition")
    func ownTag() async throws {
        try await bench.read("/items/1", "{}", etag: "\"1\"")
        let first = try await bench.write(.put, "/items/1", #"{"by":1}"#)
        let second = try await bench.write(.put, "/items/1", #"{"by":2}"#, if: .ifMatch(first.tag))
        #expect(second.precondition == .ifMatch("\"1\""))
    }

    @Test("a tag of Holdfast's own that nobody knows is 412")
    func unknownOwnTag() async throws {
        #expect(await code { try await bench.write(.put, "/x", "{}", if: .ifMatch("\"hf-none\"")) } == .precondition)
    }

    @Test("where no copy is known the origin judges the client's tag")
    func unknownCopy() async throws {
        let operation = try await bench.write(.put, "/items/9", "{}", if: .ifMatch("\"x\""))
        #expect(operation.precondition == .ifMatch("\"x\""))
        #expect(operation.preconditionIsClients)
    }

    @Test("where only what was made out of date is known the origin judges a tag of another version")
    func outdatedCopy() async throws {
        try await bench.read("/items/1", "{}", etag: "\"1\"")
        try await bench.store.commit([.expire(QueueBench.key("/items/1"))], durable: true)
        let operation = try await bench.write(.put, "/items/1", "{}", if: .ifMatch("\"2\""))
        #expect(operation.precondition == .ifMatch("\"2\"") && operation.base.etag == "\"2\"")
    }

    @Test("If-None-Match: * is refused where something is known and kept where nothing is")
    func onlyNew() async throws {
        try await bench.read("/items/1", "{}", etag: "\"1\"")
        #expect(await code { try await bench.write(.put, "/items/1", "{}", if: .ifNoneMatch("*")) } == .precondition)
        #expect(try await bench.write(.put, "/items/2", "{}", if: .ifNoneMatch("*")).precondition == .ifNoneMatch("*"))
    }

    @Test("a plain write is guarded by the strong tag of its base, unless the client is to win")
    func guarding() async throws {
        try await bench.read("/items/1", "{}", etag: "\"1\"")
        try await bench.read("/items/2", "{}", etag: "\"1\"")
        #expect(try await bench.write(.put, "/items/1", "{}").precondition == .ifMatch("\"1\""))
        var policy = Policy()
        policy.conflictResolutionPolicy = .clientWins
        #expect(try await bench.write(.put, "/items/2", "{}", policy: policy).precondition == .none)
    }

    @Test("a patch shows applied and is queued as the patch, numbers exact")
    func patch() async throws {
        try await bench.read("/items/1", #"{"a":1.50,"b":2}"#, etag: "\"1\"")
        let operation = try await bench.write(
            .patch, "/items/1", #"{"b":null,"c":3}"#, type: "application/merge-patch+json")
        #expect(try await bench.shown("/items/1") == #"{"a":1.50,"c":3}"#)
        #expect(try await bench.text(operation.body) == #"{"b":null,"c":3}"#)
    }

    @Test("a patch of an unknown type is 415, one that is none 400, one of nothing known 409")
    func patchRefusals() async throws {
        try await bench.read("/items/1", "{}", etag: "\"1\"")
        #expect(await code { try await bench.write(.patch, "/items/1", "{}", type: "text/plain") } == .patchType)
        let unknown = await code {
            try await bench.write(.patch, "/items/7", "{}", type: "application/merge-patch+json")
        }
        #expect(unknown == .patchConflict)
        for patch in ["{", #"[{"op":"frob","path":"/a"}]"#, #"[{"op":"add","path":"a","value":1}]"#, "{}"] {
            let malformed = await code {
                try await bench.write(.patch, "/items/1", patch, type: "application/json-patch+json")
            }
            #expect(malformed == .badJSON)
        }
    }

    @Test("a create shows under a temporary target with the temporary id")
    func create() async throws {
        let operation = try await bench.write(.post, "/items", #"{"name":"x"}"#)
        let target = try #require(operation.temporaryTarget)
        let id = target.text.dropFirst("/items/".count)
        #expect(try await bench.shown(target.text) == #"{"name":"x","id":"\#(id)"}"#)
        #expect(try await bench.text(operation.body) == #"{"name":"x"}"#)
        #expect(bench.queue.pendingCreates(in: QueueBench.key("/items")).map(\.id) == [operation.id])
    }
}
