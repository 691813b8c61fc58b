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
    /// Waits for its turn, a time or a credential.
    case pending
    /// On disk before its first byte leaves; after a restart it is `unknown`.
    case sending
    /// It may have taken effect: the origin is looked at before it is sent again.
    case unknown
    /// The origin has another version; a resolution or a write to the target ends it.
    case conflict
    /// The origin, or a look, said that it can't be done; a retry, an edit or a discard ends it.
    case failed
    case delivered
    /// Discarded here, or dropped by SERVER_WINS.
    case cancelled
    /// A later write took its place (`supersededBy`).
    case superseded

    /// Nothing changes it any more; it is kept as a receipt.
    package var isFinal: Bool { self == .delivered || self == .cancelled || self == .superseded }
    /// Its lane waits until somebody acts.
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
    /// The client's own, or the guard where the base has no strong ETag.
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
///
/// It goes through many hands and is changed by few of them, so its parts are shared until one is changed: a copy costs one
/// reference, not one for each of its strings.
package struct Operation: Sendable, Hashable {
    private var storage: Storage

    package var id: OperationID {
        get { parts.id }
        set { parts.id = newValue }
    }
    /// Order of acceptance in this store, from 1; the order within a lane (`precedes`).
    package var sequence: Int64 {
        get { parts.sequence }
        set { parts.sequence = newValue }
    }
    package var kind: OperationKind {
        get { parts.kind }
        set { parts.kind = newValue }
    }
    package var method: HTTPMethod {
        get { parts.method }
        set { parts.method = newValue }
    }
    package var partition: PartitionID {
        get { parts.partition }
        set { parts.partition = newValue }
    }
    /// Where it is sent: the collection for a create. Rewritten when a temporary target becomes real.
    package var target: Target {
        get { parts.target }
        set { parts.target = newValue }
    }
    /// For a create: the temporary target under which its member is known until delivery.
    package var temporaryTarget: Target? {
        get { parts.temporaryTarget }
        set { parts.temporaryTarget = newValue }
    }
    /// Replayable end-to-end fields (design 10): no secrets, no preconditions.
    package var fields: HTTPFields {
        get { parts.fields }
        set { parts.fields = newValue }
    }
    /// What is sent, a patch as it came; nil where the request has none.
    package var body: Content? {
        get { parts.body }
        set { parts.body = newValue }
    }
    /// What GET answers while this is the last of its lane: nil for a delete or an action.
    package var effective: Content? {
        get { parts.effective }
        set { parts.effective = newValue }
    }
    /// The media type of `effective`.
    package var effectiveType: String? {
        get { parts.effectiveType }
        set { parts.effectiveType = newValue }
    }
    /// The Content-Encoding of `effective`; that of a patch is the document's own.
    package var effectiveCoding: String? {
        effective == nil || method == .patch ? nil : fields.combined("Content-Encoding")
    }
    /// The `"hf-…"` tag of the effective copy after this edit, quotes included.
    package var tag: String {
        get { parts.tag }
        set { parts.tag = newValue }
    }
    /// Sent along; a new base replaces it.
    package var precondition: Precondition {
        get { parts.precondition }
        set { parts.precondition = newValue }
    }
    /// Whether the client sent the precondition (else it is the guard).
    package var preconditionIsClients: Bool {
        get { parts.preconditionIsClients }
        set { parts.preconditionIsClients = newValue }
    }
    /// The server's version at the first edit of the chain: a refresh never moves it.
    package var base: Base {
        get { parts.base }
        set { parts.base = newValue }
    }
    /// The key sent to the origin is `idempotencyKey` for round 1, `KEY.2` and so on after (design 5).
    package var idempotencyKey: String {
        get { parts.idempotencyKey }
        set { parts.idempotencyKey = newValue }
    }
    /// From 1; one more with each change of bytes or preconditions.
    package var keyRound: Int {
        get { parts.keyRound }
        set { parts.keyRound = newValue }
    }
    /// Keys of requests that were merged into this one; repeats of each get this receipt.
    package var mergedKeys: [String] {
        get { parts.mergedKeys }
        set { parts.mergedKeys = newValue }
    }
    /// Hash of method, target, preconditions and body of the accepted request, by key (own and merged), to tell a repeat from
    /// another request under the same key. Same order as `[idempotencyKey] + mergedKeys`.
    package var fingerprints: [Digest] {
        get { parts.fingerprints }
        set { parts.fingerprints = newValue }
    }
    /// As it was at acceptance.
    package var policy: Policy {
        get { parts.policy }
        set { parts.policy = newValue }
    }
    /// Unfinished operations of other lanes that must be delivered first (design 5, "dependencies").
    package var dependsOn: [OperationID] {
        get { parts.dependsOn }
        set { parts.dependsOn = newValue }
    }
    package var state: OperationState {
        get { parts.state }
        set { parts.state = newValue }
    }
    /// Why it waits or stopped: `credential`, `outcome-unknown`, `no-target`, `status`, …
    package var reason: String? {
        get { parts.reason }
        set { parts.reason = newValue }
    }
    /// How often it was claimed for sending, since the last retry by hand.
    package var attempts: Int {
        get { parts.attempts }
        set { parts.attempts = newValue }
    }
    /// Whether any attempt may have reached the origin; coalescing ends with the first.
    package var wasSent: Bool {
        get { parts.wasSent }
        set { parts.wasSent = newValue }
    }
    /// Seconds since 1970; nil: due at once.
    package var nextAttemptAt: Double? {
        get { parts.nextAttemptAt }
        set { parts.nextAttemptAt = newValue }
    }
    /// What the origin said last; kept with failed and delivered ones.
    package var lastAnswer: KeptAnswer? {
        get { parts.lastAnswer }
        set { parts.lastAnswer = newValue }
    }
    /// In the state `conflict`, and after SERVER_WINS: the record with all versions.
    package var conflictID: String? {
        get { parts.conflictID }
        set { parts.conflictID = newValue }
    }
    /// After delivery of a create: the real target.
    package var newTarget: Target? {
        get { parts.newTarget }
        set { parts.newTarget = newValue }
    }
    /// Of a create; nil until it may have left.
    package var membersBefore: MembersBefore? {
        get { parts.membersBefore }
        set { parts.membersBefore = newValue }
    }
    /// After delivery of a create: what lists know the new member by, where that is known.
    package var memberName: String? {
        get { parts.memberName }
        set { parts.memberName = newValue }
    }
    /// The operation that replaced this one.
    package var supersededBy: OperationID? {
        get { parts.supersededBy }
        set { parts.supersededBy = newValue }
    }
    /// When it was accepted, in seconds since 1970.
    package var createdAt: Double {
        get { parts.createdAt }
        set { parts.createdAt = newValue }
    }
    /// When it became final, in seconds since 1970.
    package var finishedAt: Double? {
        get { parts.finishedAt }
        set { parts.finishedAt = newValue }
    }

    package init(
        id: OperationID, sequence: Int64, kind: OperationKind, method: HTTPMethod, partition: PartitionID,
        target: Target, temporaryTarget: Target? = nil, fields: HTTPFields, body: Content?, effective: Content?,
        effectiveType: String?, tag: String, precondition: Precondition, preconditionIsClients: Bool, base: Base,
        idempotencyKey: String, fingerprint: Digest, policy: Policy, dependsOn: [OperationID] = [], createdAt: Double
    ) {
        storage = Storage(
            Parts(
                id: id, sequence: sequence, kind: kind, method: method, partition: partition, target: target,
                temporaryTarget: temporaryTarget, fields: fields, body: body, effective: effective,
                effectiveType: effectiveType, tag: tag, precondition: precondition,
                preconditionIsClients: preconditionIsClients, base: base, idempotencyKey: idempotencyKey, keyRound: 1,
                mergedKeys: [], fingerprints: [fingerprint], policy: policy, dependsOn: dependsOn, state: .pending,
                attempts: 0, wasSent: false, createdAt: createdAt))
    }

    /// The keys under which the client may repeat it.
    package var keys: [String] { [idempotencyKey] + mergedKeys }

    /// Those of them that need a table to find it by; the one that is made of its id needs none.
    package var indexedKeys: [String] {
        if mergedKeys.isEmpty, IDs.isIdempotencyKey(idempotencyKey, of: id) { return [] }
        return keys.filter { !IDs.isIdempotencyKey($0, of: id) }
    }

    /// The entry whose lane this operation stands in.
    package var lane: EntryKey { EntryKey(partition: partition, target: temporaryTarget ?? target) }

    /// Whether it comes before the other one. Stores that were apart may have given one sequence twice: the id decides then, so that
    /// every process has the same order.
    package func precedes(_ other: Operation) -> Bool {
        sequence != other.sequence ? sequence < other.sequence : id < other.id
    }

    private struct Parts: Sendable, Hashable {
        var id: OperationID
        var sequence: Int64
        var kind: OperationKind
        var method: HTTPMethod
        var partition: PartitionID
        var target: Target
        var temporaryTarget: Target?
        var fields: HTTPFields
        var body: Content?
        var effective: Content?
        var effectiveType: String?
        var tag: String
        var precondition: Precondition
        var preconditionIsClients: Bool
        var base: Base
        var idempotencyKey: String
        var keyRound: Int
        var mergedKeys: [String]
        var fingerprints: [Digest]
        var policy: Policy
        var dependsOn: [OperationID]
        var state: OperationState
        var reason: String?
        var attempts: Int
        var wasSent: Bool
        var nextAttemptAt: Double?
        var lastAnswer: KeptAnswer?
        var conflictID: String?
        var newTarget: Target?
        var membersBefore: MembersBefore?
        var memberName: String?
        var supersededBy: OperationID?
        var createdAt: Double
        var finishedAt: Double?
    }

    /// Unchecked: changed only by who holds the one reference to it.
    private final class Storage: @unchecked Sendable {
        var parts: Parts
        init(_ parts: Parts) { self.parts = parts }
    }

    private var parts: Parts {
        _read { yield storage.parts }
        _modify {
            if !isKnownUniquelyReferenced(&storage) { storage = Storage(storage.parts) }
            yield &storage.parts
        }
    }

    package static func == (one: Operation, other: Operation) -> Bool {
        one.storage === other.storage || one.storage.parts == other.storage.parts
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(storage.parts) }
}
