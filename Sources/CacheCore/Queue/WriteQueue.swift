package import HTTPModel

/// A write that is to be queued: all that acceptance needs, with the body already in the store.
package struct WriteDraft: Sendable {
    package var key: EntryKey
    package var route: Route
    package var method: HTTPMethod
    package var kind: OperationKind
    /// Replayable end-to-end fields, Content-Type among them; no secrets, no preconditions.
    package var fields: HTTPFields
    package var body: Content?
    /// The client's own precondition, as sent.
    package var precondition: Precondition
    package var policy: Policy
    /// What of the request's own policy stays with the entry, from the same commit on; nil: nothing.
    package var keptPolicy: PolicyLayer?
    /// The client's Idempotency-Key; nil: one is made.
    package var idempotencyKey: String?
    /// Over method, target, preconditions and body.
    package var fingerprint: Digest
    /// The state to start in: `pending`, or `unknown` (502/504 under queueOnStatus; a repeat after 504 `outcome-unknown`).
    package var initialState: OperationState
    /// When it may be sent first, in seconds since 1970: the origin said when to come again. nil: at once.
    package var notBefore: Double?
    /// What the target was before, where the caller knows better than the store (a repeat after `outcome-unknown`).
    package var base: Base?
    /// The store whose secret made the partition; nil: any. Refused with `store-detached` where another has the target by now.
    package var place: StorePlace?

    package init(
        key: EntryKey, route: Route, method: HTTPMethod, kind: OperationKind, fields: HTTPFields, body: Content?,
        precondition: Precondition, policy: Policy, keptPolicy: PolicyLayer? = nil, idempotencyKey: String?,
        fingerprint: Digest, initialState: OperationState = .pending, notBefore: Double? = nil, base: Base? = nil,
        place: StorePlace? = nil
    ) {
        self.key = key
        self.route = route
        self.method = method
        self.kind = kind
        self.fields = fields
        self.body = body
        self.precondition = precondition
        self.policy = policy
        self.keptPolicy = keptPolicy
        self.idempotencyKey = idempotencyKey
        self.fingerprint = fingerprint
        self.initialState = initialState
        self.notBefore = notBefore
        self.base = base
        self.place = place
    }
}

/// The effective copy where an edit shows (design 1, 3).
package struct LocalEdit: Sendable, Hashable {
    /// `pending-create`, `pending-update`, `pending-patch`, `pending-delete`, `conflict` or `failed` (design 3, Sync-State).
    package var syncState: String
    /// nil: reads as 404 (a pending delete).
    package var content: Content?
    package var mediaType: String?
    /// The Content-Encoding that the content was sent in; nil: none.
    package var coding: String?
    /// The `"hf-…"` tag, quotes included.
    package var tag: String
    package var base: Base
    package var operation: OperationID
    package var conflictID: String?

    package init(
        syncState: String, content: Content?, mediaType: String?, coding: String?, tag: String, base: Base,
        operation: OperationID, conflictID: String?
    ) {
        self.syncState = syncState
        self.content = content
        self.mediaType = mediaType
        self.coding = coding
        self.tag = tag
        self.base = base
        self.operation = operation
        self.conflictID = conflictID
    }
}

/// What an Idempotency-Key means at this moment (design 5).
package enum KeyLookup: Sendable {
    /// Never seen, or refused online without a conflict: execute.
    case new
    /// Its receipt again: not finished, in conflict, or given up (by hand, for another write, by SERVER_WINS).
    case accepted(Operation)
    /// Failed, or a POST in conflict: tried again as itself (`tryAgain`).
    case stopped(Operation)
    /// Delivered, or answered online within `receiptRetention` with 2xx or as a conflict.
    case answered(KeptAnswer, Operation?)
    /// An online attempt had no answer: start in `unknown` from this base.
    case unknownOutcome(KeyRecord)
    /// The key belongs to another request: 422 `key-reused`.
    case reused
}

/// How a lane stands.
package enum LaneStatus: Sendable, Hashable {
    case empty
    case active
    /// The head is stopped: the next PUT or DELETE replaces it, a PATCH is 409 `lane-stopped`.
    case stopped(OperationID)
}

/// What a target means now: itself, or what a temporary target became.
package enum ResolvedTarget: Sendable, Hashable {
    case itself
    case moved(to: Target)
    /// A temporary target that never became a real one: 410 (`Problem.temporaryGone`).
    case gone
}

/// The queue as the API uses it. Callable from any task; the synchronous members answer from memory.
package protocol WriteQueue: Sendable {
    func localEdit(of key: EntryKey) -> LocalEdit?
    func lane(of key: EntryKey) -> LaneStatus
    func resolve(_ target: Target, of partition: PartitionID) -> ResolvedTarget
    /// The server tag that a delivered edit with this `hf-` tag got; nil where the tag is unknown or the edit still pending.
    func serverTag(forDelivered hfTag: String, of key: EntryKey) async -> String?

    /// Waits for the turn of a write that goes to the origin at once, at most until `deadline` (seconds since 1970); false where it
    /// has not come by then. Until `passTurn` no other such write has it, and nothing of the lane is sent.
    func takeTurn(at key: EntryKey, deadline: Double) async -> Bool
    /// Ends the turn that `takeTurn` gave.
    func passTurn(at key: EntryKey)

    /// Looks an Idempotency-Key up, before anything else is decided.
    func lookUp(key: String, fingerprint: Digest, of partition: PartitionID) async throws -> KeyLookup

    /// Judges the client's precondition, coalesces, applies a PATCH to the effective copy, and queues; returns when the
    /// operation is on disk. Throws `Problem`: `precondition`, `lane-stopped`, `patch-conflict`, `patch-type`, `store-full`, `too-large` ….
    func accept(_ draft: WriteDraft) async throws -> Operation

    /// Waits until the operation is final or stopped, or `deadline` (seconds since 1970) has passed; the operation as it is then
    /// (the one it was merged into, where it was superseded by that).
    func outcome(of id: OperationID, deadline: Double) async -> Operation?

    /// An online write of this target succeeded (2xx): stopped operations of the lane are superseded and open conflicts of the entry closed.
    func onlineWriteSucceeded(on key: EntryKey) async throws

    /// Keeps a conflict of an online write, and in the same commit what a repeat under its key is answered with.
    func record(_ conflict: Conflict, with answer: KeyRecord?) async throws

    /// Keeps an online write that the origin refused and SERVER_WINS dropped: a final operation, whose conflict is closed.
    func recordDropped(_ draft: WriteDraft, conflict: Conflict) async throws -> Operation

    /// Unfinished creates that were sent to exactly this collection, in order: what shows at the end of its list (design 3).
    func pendingCreates(in key: EntryKey) -> [Operation]

    /// The entries of the partitions (nil: of all) where an edit shows, creates under their temporary targets.
    func editedEntries(of partitions: [PartitionID]?) -> Set<EntryKey>

    /// Whether there is any of the partition, and of it any that is a member of the collection with that path. Cheap at any length of
    /// the queue.
    func hasEdits(of partition: PartitionID) -> Bool
    func hasEdits(ofMembersAt path: Substring, of partition: PartitionID) -> Bool

    /// The open conflict of the entry.
    func conflict(of key: EntryKey) -> Conflict?

    // Management (design 5, 6, 9). Each throws `Problem` with the reason.
    /// A stopped one is pending again; one that waits for a time is due at once, whatever Retry-After said.
    func retry(_ id: OperationID) async throws -> Operation
    /// The same for a repeat of its request: as it is by now, where something else has set it going meanwhile.
    func tryAgain(_ stopped: Operation) async throws -> Operation
    func edit(_ id: OperationID, fields: HTTPFields?, body: Content?) async throws -> Operation
    /// Discards the edit; `cascade` takes what depends on it too. Unless `force`, `operation-busy` where it may be in effect at the
    /// origin; in any case while it is being sent.
    func discard(_ id: OperationID, cascade: Bool, force: Bool) async throws -> [Operation]
    /// The same for several, with all that depends on them, in one commit where nothing of theirs stays. Those that went: what is busy
    /// stays, as does what it needs.
    func discard(_ ids: [OperationID], force: Bool) async throws -> [Operation]
    /// The same for all of a lane.
    func discardAll(of key: EntryKey, force: Bool) async throws
    /// Operations of `from` (and its entries) belong to `to` from now on.
    func adopt(from: PartitionID, to: PartitionID) async throws
    /// Unfinished operations and open conflicts by state.
    var counts: QueueCounts { get }
}

/// Numbers for GET /cache and /metrics.
package struct QueueCounts: Sendable, Hashable {
    package var pending: Int
    package var sending: Int
    package var unknown: Int
    package var failed: Int
    package var conflict: Int
    /// Open conflicts, those of online writes included.
    package var openConflicts: Int

    package init(pending: Int, sending: Int, unknown: Int, failed: Int, conflict: Int, openConflicts: Int) {
        self.pending = pending
        self.sending = sending
        self.unknown = unknown
        self.failed = failed
        self.conflict = conflict
        self.openConflicts = openConflicts
    }
}

/// How a conflict is to be resolved (design 6).
package enum Resolution: Sendable {
    case keepClient
    case keepServer(keepLater: Bool)
    case merged(Content, mediaType: String?)
    /// A merge patch or JSON patch onto the server version.
    case patched(Content, mediaType: String)
}

/// What came of a resolution.
package enum ResolutionOutcome: Sendable {
    /// The origin took it, or the server version stands: the entry is synced.
    case resolved
    /// Offline: queued under this operation.
    case queued(Operation)
    /// It moved again: the conflict with the newer server version.
    case conflictAgain(Conflict)
}

/// Delivery as the API uses it.
package protocol Delivery: Sendable {
    /// Delivers now; waits until the queue is drained or stopped, at most until `deadline`. Ids of the operations that were
    /// unfinished at the call.
    func syncNow(deadline: Double) async -> [OperationID]
    /// Resolves a conflict; the server version is read afresh first. Throws `Problem`.
    func resolve(_ conflict: Conflict, by resolution: Resolution) async throws -> ResolutionOutcome
    /// Pauses and resumes delivery (design 9, /cache/suspended).
    var isSuspended: Bool { get }
    func suspend(_ suspended: Bool)
}

/// An operation that delivery has claimed: it is `sending` on disk. Its `attempts` counts the claimed one too, from 1.
package struct Claim: Sendable {
    package var operation: Operation
    /// Whether it was `unknown` before: the target must be looked at first.
    package var mustVerify: Bool

    package init(operation: Operation, mustVerify: Bool) {
        self.operation = operation
        self.mustVerify = mustVerify
    }
}

/// What delivery found out about a claimed operation. It waits with others to be recorded, and lies apart: some kinds are large.
package indirect enum DeliveryOutcome: Sendable {
    /// In effect at the origin. `copies`: what happens to server copies in the same commit. `newTarget`, `memberName`: of a create.
    /// `newBase`: what the next of the lane uses as its base. `unseen`: the version that a look found there instead of what was
    /// sent; the next of the lane, made without having seen it, is in conflict with it. `isUnseen`: the answer named no version, and
    /// none was looked for. Where an edit follows by the time that this is recorded, which would go out without a base, it is
    /// recorded as `unknown` instead: the look that comes then finds the version.
    case delivered(
        answer: KeptAnswer?, newTarget: Target?, newBase: Base, copies: [StoreChange], memberName: String? = nil,
        unseen: ConflictVersion? = nil, isUnseen: Bool = false)
    /// Not applied: due again at `at`.
    case retry(at: Double, answer: KeptAnswer?, reason: String?)
    /// It can't be told: `unknown`, due at `at`.
    case unknown(at: Double, answer: KeptAnswer?, reason: String?)
    /// No connection: as before, as if never tried, and due as soon as it is online.
    case notSent
    /// The look that has to come before sending brought nothing: as before, as nothing was sent, and due again at `at`.
    case lookedInVain(at: Double)
    /// No credential of its identity: as before, but waits, reason `credential`, until `credentialArrived`.
    case waitsForCredential
    case failed(reason: String, answer: KeptAnswer?)
    case conflict(Conflict, answer: KeptAnswer?, copies: [StoreChange])
    /// SERVER_WINS: dropped; later operations of the lane are dropped with it.
    case dropped(Conflict, copies: [StoreChange])
    /// CLIENT_WINS or an encoded-tag retry: another precondition, a new key round, due at once.
    case rebased(precondition: Precondition, base: Base)
}

/// The queue as delivery uses it.
package protocol DeliveryQueue: Sendable {
    /// Up to `limit` due operations of independent lanes, claimed as `sending` on disk in one commit. `inFlight` lanes are left out by
    /// the queue itself. High-priority pinned targets first, then by sequence.
    /// `membersBefore`: what is known of a collection, kept with each create that is claimed there for the first time.
    func claim(
        limit: Int, now: Double, membersBefore: @Sendable (EntryKey) -> MembersBefore?
    ) async throws -> [Claim]
    /// Keeps with a claimed create, durably, what the list showed; only then may it leave.
    func keep(_ before: MembersBefore, of id: OperationID) async throws
    /// Records the outcome durably, rewrites temporary targets, wakes who waits, emits events.
    func record(_ outcome: DeliveryOutcome, of id: OperationID) async throws
    /// The same for several, in one commit where that is possible. Those that are to be recorded one by one: they have to wait for
    /// something, or the commit failed.
    func record(_ outcomes: [(id: OperationID, outcome: DeliveryOutcome)]) async -> [OperationID]
    /// When the next operation becomes due; nil: none waits for a time.
    func nextDue(now: Double) -> Double?
    /// Calls `wake` whenever something may have become due (accept, retry, record, credential).
    func onWork(_ wake: @escaping @Sendable () -> Void)
    /// On coming online, and `byHand`: every lane is due at once but for `settle` and `credential`, and Retry-After unless by hand.
    func dueAtOnce(byHand: Bool)
    func credentialArrived(for partition: PartitionID)
    /// All unfinished operations, in order.
    func unfinished() -> [Operation]
    /// The first behind this one in its lane that makes an effective copy.
    func nextEdit(after operation: Operation) -> Operation?
    /// Whether an earlier operation of its lane, or one it depends on, has stopped: it won't be delivered before that is settled.
    func isBehindStopped(_ operation: Operation) -> Bool
    /// Whose operations wait for a credential.
    var partitionsWithoutCredential: Set<PartitionID> { get }
    /// Where unfinished creates are sent.
    var collectionsOfCreates: Set<EntryKey> { get }
    func operation(_ id: OperationID) -> Operation?
}

extension WriteQueue {
    /// `Sync-State` of the entry: of its local edit, else `conflict` where one is open, else `synced`.
    package func syncState(of key: EntryKey) -> String {
        localEdit(of: key)?.syncState ?? (conflict(of: key) == nil ? "synced" : "conflict")
    }

    /// Keeps a conflict of an online write that came without a key.
    package func record(_ conflict: Conflict) async throws { try await record(conflict, with: nil) }

    package func hasEdits(of partition: PartitionID) -> Bool { !editedEntries(of: [partition]).isEmpty }

    package func hasEdits(ofMembersAt path: Substring, of partition: PartitionID) -> Bool {
        editedEntries(of: [partition]).contains { $0.target.isMember(ofPath: path) }
    }

    /// Where nothing is queued for members.
    package func pendingCreates(in key: EntryKey) -> [Operation] { [] }
}
