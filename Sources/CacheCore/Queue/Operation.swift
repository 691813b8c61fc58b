package import HTTPModel

/// Names an operation: 26 characters that sort by acceptance.
package struct OperationID: Sendable, Hashable, Comparable, CustomStringConvertible {
    package let text: String
    package init(_ text: String) { self.text = text }
    package var description: String { text }
    package static func < (one: OperationID, other: OperationID) -> Bool { one.text < other.text }
}

/// States of design 5. Stopped: conflict, failed. Final: delivered, cancelled, superseded.
package enum OperationState: String, Sendable, Hashable, CaseIterable {
    case pending, sending, unknown, conflict, failed, delivered, cancelled, superseded

    package var isFinal: Bool { self == .delivered || self == .cancelled || self == .superseded }
    package var isStopped: Bool { self == .conflict || self == .failed }
}

/// What kind of change an operation is.
package enum OperationKind: String, Sendable, Hashable {
    /// PUT, PATCH or DELETE of its target.
    case edit
    /// POST that makes a new member; its own target is a temporary one.
    case create
    /// POST that is queued in the lane of its target, without an entry.
    case action
    /// A pending resolution of a conflict (design 6); sent like an edit.
    case resolution
}

/// The precondition that goes with a write (RFC 9110 13.1), as field value text.
package enum Precondition: Sendable, Hashable {
    case none
    case ifMatch(String)
    case ifNoneMatch(String)
    case ifUnmodifiedSince(String)
}

/// The server version that an edit started from (design 5, "base validator").
package struct Base: Sendable, Hashable {
    package var etag: String?
    package var lastModified: String?
    package var mediaType: String?
    /// nil where nothing was known, or the target was gone.
    package var content: Content?

    package init(etag: String? = nil, lastModified: String? = nil, mediaType: String? = nil, content: Content? = nil) {
        self.etag = etag
        self.lastModified = lastModified
        self.mediaType = mediaType
        self.content = content
    }

    /// Nothing was known of the target.
    package static let unknown = Base()
}

/// An answer of the origin that is kept: with a failed operation, a receipt, or under an Idempotency-Key.
package struct KeptAnswer: Sendable, Hashable {
    package var status: Int
    package var fields: HTTPFields
    package var content: Content?

    package init(status: Int, fields: HTTPFields, content: Content? = nil) {
        self.status = status
        self.fields = fields
        self.content = content
    }
}

/// What the list at a collection showed before a create first left (design 5, "Once in effect").
package enum MembersBefore: Sendable, Hashable {
    /// It was not looked at: the create was sent elsewhere before, or the origin tells repeats by their key.
    case notRead
    /// It can't be read whole.
    case unreadable
    /// The members by a hash of what lists know each by, as the list showed them at `at` (seconds since 1970).
    case marks([UInt64], at: Double)
}

/// One queued write (design 1, 5). A value: the queue's in-memory book and the store hold equal copies; a change is
/// committed to the store first, then shown.
package struct Operation: Sendable, Hashable {
    package var id: OperationID
    /// Order of acceptance in this store, from 1; the order within a lane (`precedes`).
    package var sequence: Int64
    package var kind: OperationKind
    package var method: HTTPMethod
    package var partition: PartitionID
    /// Where it is sent: the collection for a create. Rewritten when a temporary target becomes real.
    package var target: Target
    /// For a create: the temporary target under which its member is known until delivery.
    package var temporaryTarget: Target?
    /// Replayable end-to-end fields (design 10): no secrets, no preconditions.
    package var fields: HTTPFields
    package var body: Content?
    /// What GET answers while this is the last of its lane: nil for a delete or an action.
    package var effective: Content?
    package var effectiveType: String?
    /// The `"hf-…"` tag of the effective copy after this edit, quotes included.
    package var tag: String
    package var precondition: Precondition
    /// Whether the client sent the precondition (else it is the guard).
    package var preconditionIsClients: Bool
    package var base: Base
    /// The key sent to the origin is `idempotencyKey` for round 1, `KEY.2` and so on after (design 5).
    package var idempotencyKey: String
    package var keyRound: Int
    /// Keys of requests that were merged into this one; repeats of each get this receipt.
    package var mergedKeys: [String]
    /// Hash of method, target, preconditions and body of the accepted request, by key (own and merged), to tell a repeat from
    /// another request under the same key. Same order as `[idempotencyKey] + mergedKeys`.
    package var fingerprints: [Digest]
    package var policy: Policy
    /// Unfinished operations of other lanes that must be delivered first (design 5, "dependencies").
    package var dependsOn: [OperationID]
    package var state: OperationState
    /// Why it waits or stopped: `credential`, `outcome-unknown`, `no-target`, `status`, …
    package var reason: String?
    package var attempts: Int
    /// Whether any attempt may have reached the origin; coalescing ends with the first.
    package var wasSent: Bool
    /// Seconds since 1970; nil: due at once.
    package var nextAttemptAt: Double?
    package var lastAnswer: KeptAnswer?
    package var conflictID: String?
    /// After delivery of a create: the real target.
    package var newTarget: Target?
    /// Of a create; nil until it may have left.
    package var membersBefore: MembersBefore?
    /// After delivery of a create: what lists know the new member by, where that is known.
    package var memberName: String?
    /// The operation that replaced this one.
    package var supersededBy: OperationID?
    package var createdAt: Double
    /// When it became final.
    package var finishedAt: Double?

    package init(
        id: OperationID, sequence: Int64, kind: OperationKind, method: HTTPMethod, partition: PartitionID,
        target: Target, temporaryTarget: Target? = nil, fields: HTTPFields, body: Content?, effective: Content?,
        effectiveType: String?, tag: String, precondition: Precondition, preconditionIsClients: Bool, base: Base,
        idempotencyKey: String, fingerprint: Digest, policy: Policy, dependsOn: [OperationID] = [], createdAt: Double
    ) {
        self.id = id
        self.sequence = sequence
        self.kind = kind
        self.method = method
        self.partition = partition
        self.target = target
        self.temporaryTarget = temporaryTarget
        self.fields = fields
        self.body = body
        self.effective = effective
        self.effectiveType = effectiveType
        self.tag = tag
        self.precondition = precondition
        self.preconditionIsClients = preconditionIsClients
        self.base = base
        self.idempotencyKey = idempotencyKey
        self.keyRound = 1
        self.mergedKeys = []
        self.fingerprints = [fingerprint]
        self.policy = policy
        self.dependsOn = dependsOn
        self.state = .pending
        self.attempts = 0
        self.wasSent = false
        self.createdAt = createdAt
    }

    /// The entry whose lane this operation stands in.
    package var lane: EntryKey { EntryKey(partition: partition, target: temporaryTarget ?? target) }

    /// Whether it comes before the other one. Stores that were apart may have given one sequence twice: the id decides then, so that
    /// every process has the same order.
    package func precedes(_ other: Operation) -> Bool {
        sequence != other.sequence ? sequence < other.sequence : id < other.id
    }
}
