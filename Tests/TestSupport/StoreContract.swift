package import CacheCore
import HTTPModel

/// A rule of the `Store` port that was not kept.
package struct BrokenRule: Error, CustomStringConvertible {
    package let description: String
}

/// One rule of the `Store` port, to be kept by every store. Each begins with an empty store.
package struct StoreRule: Sendable, CustomStringConvertible {
    package let description: String
    /// Throws `BrokenRule`, or what the store throws.
    package let check: @Sendable (any Store) async throws -> Void

    init(_ description: String, _ check: @escaping @Sendable (any Store) async throws -> Void) {
        self.description = description
        self.check = check
    }
}

/// The rules that all stores keep. Tests run each against each store.
package enum StoreContract {
    package static let rules = entryRules + queueRules + bodyRules + selectionRules

    static func require(_ isKept: Bool, _ what: String) throws(BrokenRule) {
        if !isKept { throw BrokenRule(description: what) }
    }

    static func key(_ target: String, _ partition: PartitionID = .none) -> EntryKey {
        EntryKey(partition: partition, target: Target(unchecked: target))
    }

    static let someone = PartitionID(high: 1, low: 2)

    /// A copy with a body of its own.
    static func copy(_ text: String, in store: any Store, selecting: [HTTPField] = [], at time: Double = 2) async throws
        -> ServerCopy
    {
        let content = try await store.makeContent(Array(text.utf8), for: .copy)
        return ServerCopy(
            status: 200, fields: ["ETag": "\"\(text)\""], content: content, requestTime: time - 1, responseTime: time,
            selecting: selecting, epoch: store.epoch)
    }

    static func operation(_ sequence: Int64, _ partition: PartitionID = .none, target: String = "/t") -> Operation {
        Operation(
            id: OperationID("op\(1_000 + sequence)"), sequence: sequence, kind: .edit, method: .put,
            partition: partition, target: Target(unchecked: target), fields: [:], body: nil, effective: nil,
            effectiveType: nil, tag: "\"hf-\(sequence)\"", precondition: .none, preconditionIsClients: false,
            base: .unknown, idempotencyKey: "key\(sequence)", fingerprint: Digest(bytes: [1]), policy: Policy(),
            createdAt: Double(sequence))
    }

    static func conflict(_ id: String, _ partition: PartitionID = .none) -> Conflict {
        Conflict(
            id: id, key: key("/t", partition), kind: .edited, operationID: nil, method: .put, fields: [:], base: nil,
            client: ConflictVersion(), server: nil, serverIsLatest: false, originAnswer: nil, policy: Policy(),
            createdAt: 1)
    }

    static func record(_ name: String, _ partition: PartitionID = .none) -> KeyRecord {
        KeyRecord(
            partition: partition, key: name, fingerprint: Digest(bytes: [2]), method: .post,
            target: Target(unchecked: "/t"), answer: KeptAnswer(status: 201, fields: ["Location": "/t/1"]),
            base: .unknown, at: 1_700_000_000)
    }
}
