import CacheCore
import HTTPModel
import TestSupport
import Testing

/// What a repeat under the same Idempotency-Key means once the write has stopped or was given up (design 5).
@Suite("Repeats of stopped writes")
struct RepeatTests {
    let bench = QueueBench()
    private let patchType = "application/merge-patch+json"

    /// Stops what is due, by a newer version of the server or by a refusal.
    @discardableResult
    private func stop(_ state: OperationState) async throws -> Operation {
        let sent = try #require(try await bench.claimOne())
        let conflict = bench.conflict(sent, server: ConflictVersion(etag: "\"2\""))
        try await bench.queue.record(
            state == .conflict
                ? .conflict(conflict, answer: nil, copies: []) : .failed(reason: Reason.status, answer: nil),
            of: sent.id)
        return try #require(bench.queue.operation(sent.id))
    }

    private func lookUp(_ key: String, as operation: Operation, in queue: OperationQueue) async throws -> KeyLookup {
        let index = try #require(operation.keys.firstIndex(of: key))
        return try await queue.lookUp(key: key, fingerprint: operation.fingerprints[index], of: .none)
    }

    private func accepted(_ lookup: KeyLookup) -> OperationID? {
        if case .accepted(let operation) = lookup { operation.id } else { nil }
    }

    @Test("a repeat of a write in conflict decides nothing", arguments: [HTTPMethod.put, .patch, .delete])
    func conflict(method: HTTPMethod) async throws {
        try await bench.read("/items/1", #"{"n":1}"#, etag: "\"1\"")
        let body = method == .delete ? nil : #"{"n":2}"#
        func write() async throws -> Operation {
            try await bench.write(method, "/items/1", body, type: method == .patch ? patchType : "a/b", key: "K")
        }
        _ = try await write()
        let stopped = try await stop(.conflict)
        let again = try await write()
        #expect(again == stopped && again.state == .conflict && again.precondition == .ifMatch("\"1\""))
        #expect(try await bench.claimOne() == nil)
        #expect(bench.queue.conflict(of: stopped.lane)?.operationID == stopped.id)
    }

    @Test("a repeat of a write in conflict decides nothing after a restart either")
    func restart() async throws {
        _ = try await bench.write(.put, "/items/1", "{}", key: "K")
        let stopped = try await stop(.conflict)
        let queue = try await bench.restarted()
        #expect(accepted(try await lookUp("K", as: stopped, in: queue)) == stopped.id)
    }

    @Test("a repeat of a write that failed tries it again with its base, its key and all that was merged into it")
    func failed() async throws {
        try await bench.read("/items/1", #"{"n":1}"#, etag: "\"1\"")
        func put() async throws -> Operation { try await bench.write(.put, "/items/1", #"{"n":2}"#, key: "A") }
        func patch() async throws -> Operation {
            try await bench.write(.patch, "/items/1", #"{"z":1}"#, type: patchType, key: "B")
        }
        _ = try await put()
        _ = try await patch()
        for repetition in [put, patch] {
            let stopped = try await stop(.failed)
            try await bench.read("/items/1", #"{"n":9}"#, etag: "\"2\"")
            let again = try await repetition()
            #expect(again.id == stopped.id && again.state == .pending)
            #expect(again.precondition == .ifMatch("\"1\"") && again.base == stopped.base)
            #expect(again.idempotencyKey == "A" && again.keyRound == stopped.keyRound)
            #expect(try await bench.text(again.body) == #"{"n":2,"z":1}"#)
        }
    }

    @Test("a repeat of a merged write in conflict leaves what was merged into it")
    func mergedConflict() async throws {
        _ = try await bench.write(.put, "/items/1", #"{"n":2}"#, key: "A")
        _ = try await bench.write(.patch, "/items/1", #"{"z":1}"#, type: patchType, key: "B")
        let stopped = try await stop(.conflict)
        #expect(try await bench.write(.put, "/items/1", #"{"n":2}"#, key: "A") == stopped)
        #expect(try await bench.shown("/items/1") == #"{"n":2,"z":1}"#)
    }

    @Test("a repeat of a POST in conflict tries it again, under its temporary target")
    func create() async throws {
        let create = try await bench.write(.post, "/items", "{}", key: "K")
        try await stop(.conflict)
        let again = try await bench.write(.post, "/items", "{}", key: "K")
        #expect(again.id == create.id && again.state == .pending)
        #expect(again.temporaryTarget == create.temporaryTarget)
    }

    @Test("of two repeats at once the second finds the write on its way")
    func twice() async throws {
        _ = try await bench.write(.put, "/items/1", "{}", key: "K")
        let stopped = try await stop(.failed)
        _ = try await bench.queue.tryAgain(stopped)
        _ = try await bench.claimOne()
        #expect(try await bench.queue.tryAgain(stopped).state == .sending)
        try await bench.deliver(stopped.id)
        #expect(try await bench.queue.tryAgain(stopped).state == .delivered)
    }

    @Test(
        "a repeat of a write that another has replaced gets the other's receipt, and does not try that again",
        arguments: [OperationState.failed, .conflict])
    func replaced(state: OperationState) async throws {
        _ = try await bench.write(.put, "/items/1", #"{"n":2}"#, key: "K")
        let stopped = try await stop(.conflict)
        let other = try await bench.write(.put, "/items/1", #"{"n":3}"#, key: "L")
        try await stop(state)
        #expect(accepted(try await lookUp("K", as: stopped, in: bench.queue)) == other.id)
    }

    @Test("a repeat of a write that was given up is not executed: it gets its receipt", arguments: [true, false])
    func givenUp(byHand: Bool) async throws {
        _ = try await bench.write(.put, "/items/1", "{}", key: "K")
        let stopped = try await stop(.conflict)
        if byHand {
            _ = try await bench.queue.discard(stopped.id, cascade: false)
        } else {
            try await bench.queue.onlineWriteSucceeded(on: stopped.lane)
        }
        let again = try await bench.write(.put, "/items/1", "{}", key: "K")
        #expect(again.id == stopped.id && again.state == (byHand ? .cancelled : .superseded))
        #expect(bench.queue.lane(of: stopped.lane) == .empty)
    }
}
