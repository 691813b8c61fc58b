import CacheCore
import HTTPModel
import Testing

@Suite struct `An operation as a value` {
    private let operation = Operation(
        id: OperationID("1"), sequence: 1, kind: .edit, method: .put, partition: .none,
        target: Target(unchecked: "/items/1"), fields: ["Content-Type": "text/plain"], body: nil, effective: nil,
        effectiveType: "text/plain", tag: "\"hf-1\"", precondition: .none, preconditionIsClients: false, base: .unknown,
        idempotencyKey: "key", fingerprint: Digest(bytes: [1]), policy: Policy(), createdAt: 1)

    @Test func `Changing a copy leaves the other as it was`() {
        var copy = operation
        copy.state = .sending
        copy.fields["Content-Type"] = "text/html"
        #expect(operation.state == .pending)
        #expect(operation.fields["Content-Type"] == "text/plain")
        #expect(copy != operation)
    }

    @Test func `Two with the same parts are equal, however they came about`() {
        var copy = operation
        copy.attempts = 1
        copy.attempts = 0
        #expect(copy == operation)
        #expect(copy.hashValue == operation.hashValue)
    }
}
