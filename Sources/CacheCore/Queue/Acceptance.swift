import HTTPModel
import Synchronization

/// One write on its way into the queue, from the lock of its lane to the commit.
///
/// An object, because what an async function holds across a wait lies in memory that is made anew for each call: here that is one
/// reference. What needs no wait is decided in functions that have none. Used by one task.
final class Acceptance {
    private let queue: OperationQueue
    private var draft: WriteDraft
    /// The target of a new member, until the origin names the real one.
    private let temporary: Target?
    let lane: EntryKey
    /// Temporary ids that the write names.
    private var named: [String] = []
    private var entry: Entry?
    private var edit: LocalEdit?
    private var editedAt: Double?
    private var conflicts: [Conflict] = []
    private var dependsOn: [OperationID] = []
    private var placement = LaneBook.Placement()
    /// The server tags of delivered edits that the client's precondition names, by `hf-` tag.
    private var delivered: [String: String] = [:]

    /// `key`: the draft's, as it is called now.
    init(_ draft: WriteDraft, as key: EntryKey, in queue: OperationQueue) {
        self.queue = queue
        self.draft = draft
        self.draft.key = key
        temporary = draft.kind == .create ? Self.newMember(of: key.target) : nil
        lane = EntryKey(partition: key.partition, target: temporary ?? key.target)
    }

    /// What others depend on changes only under the lock of the whole queue.
    var reachesAcrossLanes: Bool { draft.kind != .create && TemporaryTarget.id(of: lane.target) != nil }

    /// Queues it; under the lock. nil where a temporary target has become real while the lock was waited for.
    func run() async throws -> Operation? {
        guard queue.resolve(draft.key.target, of: draft.key.partition) == .itself else { return nil }
        // Stores come and go under the lock of the whole queue only.
        if let place = draft.place, place != queue.store.place(of: lane.target) { throw Problem.from(.detached) }
        if queue.mayBeNamed { try await takeRealNames() }
        if temporary == nil, !queue.store.isAbsent(lane) { try await readEntry() }
        if let stopped = try place() {
            return try await queue.resolveInPlace(stopped[0], with: draft, later: Array(stopped.dropFirst()))
        }
        if namesOwnTags { await findDeliveredTags() }
        var operation = try makeOperation()
        if !takesContentAsSent(&operation) { try await makeContent(of: &operation) }
        let changes = changes(for: &operation)
        do { try await queue.commit(changes) } catch var problem as Problem where problem.code == .mirrorFailed {
            problem.fields["Sync-Operation"] = operation.id.text
            throw problem
        }
        return operation
    }

    // MARK: What is known

    private static func newMember(of collection: Target) -> Target {
        let path = collection.path
        return Target(unchecked: path + (path.utf8.last == UInt8(ascii: "/") ? "" : "/") + IDs.temporaryMember())
    }

    /// Takes real names for temporary ones that are real by now.
    @inline(never)
    private func takeRealNames() async throws {
        let type = draft.fields["Content-Type"]
        named = try await queue.namedIDs(target: draft.key.target, fields: draft.fields, body: draft.body, type: type)
        guard !named.isEmpty else { return }
        let partition = draft.key.partition
        let renamings = queue.book.withLock { book in
            named.compactMap { id -> Renaming? in
                guard let alias = book.aliases[LaneBook.Name(id, of: partition)], let real = alias.real else {
                    return nil
                }
                return Renaming(temporary: alias.temporary, real: real, jsonID: nil)
            }
        }
        guard !renamings.isEmpty else { return }
        for renaming in renamings {
            for index in draft.fields.indices {
                draft.fields[index].value = renaming.rewriteText(draft.fields[index].value)
            }
        }
        draft.body = try await queue.rewritten(draft.body, type: type, by: renamings)
    }

    @inline(never)
    private func readEntry() async throws {
        entry = try await queue.storeCall { () async throws(StoreError) in try await queue.store.entry(lane) }
    }

    /// Finds its place in the lane. The lane's operations, where it is a resolution and the first has stopped in a conflict.
    private func place() throws -> [Operation]? {
        let isCoalescing = queue.settings.current.coalesce && draft.initialState == .pending
        return try queue.book.withLock { book in
            dependsOn = book.creates(named: named, of: lane.partition).filter { book.operations[$0]?.lane != lane }
            placement = try book.place(draft.method, draft.kind, onto: lane, coalesce: isCoalescing, named: dependsOn)
            edit = book.localEdit(of: lane)
            editedAt = book.lastEdit(of: lane)?.createdAt
            conflicts = book.conflicts(of: lane)
            guard draft.kind == .resolution else { return nil }
            let operations = book.lane(lane)
            return operations.first?.state == .conflict ? operations : nil
        }
    }

    private var copies: [ServerCopy] { entry?.copies ?? [] }
    /// What the edit starts from, where that is known.
    private var copy: ServerCopy? { copies.first { !$0.fields.contains("Content-Encoding") } ?? copies.first }

    // MARK: The client's precondition

    private var namesOwnTags: Bool {
        ClientPrecondition.ownTags(in: draft.precondition).contains { $0 != edit?.tag }
    }

    @inline(never)
    private func findDeliveredTags() async {
        for tag in ClientPrecondition.ownTags(in: draft.precondition) where tag != edit?.tag {
            delivered[tag] = await queue.serverTag(forDelivered: tag, of: draft.key)
        }
    }

    private func judge() throws -> ClientPrecondition.Judgement {
        // The precondition of a create is about the collection, which the origin knows best.
        if draft.kind == .create, ClientPrecondition.ownTags(in: draft.precondition).isEmpty {
            return draft.precondition == .none ? .guarded : .explicit(draft.precondition, nil)
        }
        return try ClientPrecondition(
            edit: edit, editedAt: editedAt, copies: copies, now: queue.clock.now, delivered: delivered
        ).judge(draft.precondition)
    }

    // MARK: The operation

    private func makeOperation() throws -> Operation {
        let judgement = try judge()
        let known = newestBase(copy: copy, conflicts: placement.restartsLane ? conflicts : [])
        let now = queue.clock.now
        let id = IDs.operation(now: now)
        var operation = Operation(
            id: id, sequence: 0, kind: draft.kind, method: draft.method, partition: lane.partition,
            target: draft.key.target, temporaryTarget: temporary, fields: draft.fields, body: draft.body,
            effective: nil, effectiveType: draft.fields["Content-Type"], tag: IDs.tag(of: id), precondition: .none,
            preconditionIsClients: false, base: draft.base ?? known.base,
            idempotencyKey: draft.idempotencyKey ?? IDs.idempotencyKey(of: id), fingerprint: draft.fingerprint,
            policy: draft.policy, dependsOn: dependsOn, createdAt: now)
        if draft.initialState == .unknown {
            operation.state = .unknown
            operation.wasSent = true
            operation.membersBefore = draft.kind == .create ? .notRead : nil
        }
        operation.wait(until: draft.notBefore)
        setPrecondition(of: &operation, by: judgement, known: known)
        if let merged = placement.merged { merge(merged, into: &operation) }
        return operation
    }

    /// The newest server version known: what the refused write was told, else the copy.
    private func newestBase(copy: ServerCopy?, conflicts: [Conflict]) -> (base: Base, isAbsent: Bool) {
        if let server = conflicts.last?.server {
            let base = Base(
                etag: server.etag, lastModified: server.lastModified, mediaType: server.mediaType,
                content: server.content)
            return server.isAbsent ? (.unknown, true) : (base, false)
        }
        return (copy.map { Base(of: $0) } ?? .unknown, copy?.isGone ?? false)
    }

    /// Guard, base and the client's own precondition (design 4).
    private func setPrecondition(
        of operation: inout Operation, by judgement: ClientPrecondition.Judgement, known: (base: Base, isAbsent: Bool)
    ) {
        if placement.merged == nil, let before = placement.predecessor { operation.base = before.base }
        switch judgement {
        case .guarded:
            guard draft.kind == .edit || draft.kind == .resolution else { return }
            operation.precondition = operation.base.guardPrecondition(under: draft.policy)
            // What was deleted at the origin is created anew only if nobody else has done so.
            if placement.restartsLane, known.isAbsent, draft.method == .put, draft.policy.guardsWrites {
                operation.precondition = .ifNoneMatch("*")
            }
        case .tracksLane:
            operation.preconditionIsClients = true
            // Behind another edit the tag stays until that one is delivered; the origin never sees it.
            operation.precondition =
                placement.predecessor != nil && placement.merged == nil
                ? .ifMatch(placement.predecessor?.tag ?? "") : operation.base.strictPrecondition
        case .explicit(let precondition, let base):
            operation.preconditionIsClients = true
            operation.precondition = precondition
            if let base { operation.base = base }
        }
        guard let merged = placement.merged, !placement.restartsLane || merged.kind == .create else { return }
        // The merged write starts where the first of the chain did, unless the client has named a newer version.
        if case .explicit(.ifMatch(let tag), _?) = judgement, merged.kind != .create, tag != "*" { return }
        let isOverwrite = operation.precondition == .ifMatch("*") && !merged.preconditionIsClients
        operation.base = merged.base
        if isOverwrite, merged.kind != .create { return }
        operation.preconditionIsClients = merged.preconditionIsClients || operation.preconditionIsClients
        operation.precondition =
            merged.preconditionIsClients || merged.kind == .create || operation.preconditionIsClients
            ? merged.precondition : merged.base.guardPrecondition(under: draft.policy)
    }

    /// Key, round and dependencies of the operation that another merges into (design 5, "Idempotency-Key").
    private func merge(_ merged: Operation, into operation: inout Operation) {
        operation.kind = merged.kind
        operation.target = merged.target
        operation.temporaryTarget = merged.temporaryTarget
        operation.idempotencyKey = merged.idempotencyKey
        operation.keyRound = merged.keyRound + 1
        operation.mergedKeys = merged.mergedKeys
        operation.fingerprints = merged.fingerprints
        if let key = draft.idempotencyKey, key != merged.idempotencyKey, !merged.mergedKeys.contains(key) {
            operation.mergedKeys.append(key)
            operation.fingerprints.append(draft.fingerprint)
        }
        if merged.reason == Reason.retryAfter { operation.wait(until: merged.nextAttemptAt) }
        operation.dependsOn = merged.dependsOn + operation.dependsOn.filter { !merged.dependsOn.contains($0) }
    }

    // MARK: Body and effective copy

    /// The temporary id of the create that the write is merged into.
    private var mergedMember: String? {
        guard let merged = placement.merged, merged.kind == .create else { return nil }
        return merged.temporaryTarget.flatMap { TemporaryTarget.id(of: $0) }
    }

    /// Where nothing has to be read or made for it; false where something has.
    private func takesContentAsSent(_ operation: inout Operation) -> Bool {
        if mergedMember != nil { return false }
        switch (draft.kind, draft.method) {
        case (.action, _): operation.effectiveType = nil
        case (.create, _): return false
        case (_, .delete): operation.effectiveType = nil
        case (_, .patch): return false
        default: operation.effective = draft.body
        }
        return true
    }

    @inline(never)
    private func makeContent(of operation: inout Operation) async throws {
        let type = draft.fields["Content-Type"]
        if let merged = placement.merged, let id = mergedMember {
            guard draft.method != .delete else { return }
            operation.method = merged.method
            if draft.method == .patch {
                let document = merged.body.map { Representation(content: $0, mediaType: merged.effectiveType) }
                operation.fields = merged.fields
                operation.body = try await queue.patched(document, by: draft.body, type: type)
            } else {
                operation.body = try await queue.withoutTemporaryID(
                    draft.body, type: type, collection: merged.target, id: id)
            }
            operation.effectiveType = operation.fields["Content-Type"]
            operation.effective = try await queue.withTemporaryID(
                operation.body, type: operation.effectiveType, collection: merged.target, id: id)
            return
        }
        if draft.kind == .create {
            let id = operation.temporaryTarget.flatMap { TemporaryTarget.id(of: $0) } ?? ""
            operation.effective = try await queue.withTemporaryID(
                draft.body, type: type, collection: operation.target, id: id)
            return
        }
        let shown =
            edit.map { edit in
                edit.content.map { Representation(content: $0, mediaType: edit.mediaType) }
            } ?? Self.representation(of: copy)
        operation.effective = try await queue.patched(shown, by: draft.body, type: type)
        operation.effectiveType = shown?.mediaType
        if let merged = placement.merged, merged.method == .put {
            operation.method = .put
            operation.fields = merged.fields
            operation.body = operation.effective
        }
    }

    private static func representation(of copy: ServerCopy?) -> Representation? {
        guard let copy, copy.status == 200, !copy.fields.contains("Content-Encoding") else { return nil }
        return Representation(content: copy.content, mediaType: copy.fields["Content-Type"])
    }

    // MARK: What is committed

    private func changes(for operation: inout Operation) -> [StoreChange] {
        let now = operation.createdAt
        if placement.removesBoth { finishUnsent(&operation, at: now) }
        operation.sequence = queue.book.withLock {
            $0.takeSequence { queue.store.sequence(after: $0, for: lane.target) }
        }
        let id = operation.id
        var changes = placement.replaced.map { queue.superseded($0, by: id) }
        changes.append(.putOperation(operation))
        if placement.removesBoth, let gone = placement.merged?.temporaryTarget {
            changes.append(.putAlias(TargetAlias(partition: lane.partition, temporary: gone, real: nil)))
        } else if let merged = placement.merged {
            changes += queue.book.withLock { $0.redirectDependents(of: merged.id, to: id) }
        }
        if placement.restartsLane, draft.kind != .resolution {
            changes += conflicts.map { .putConflict($0.closed(at: now)) }
        }
        if draft.initialState == .unknown, let key = draft.idempotencyKey {
            changes.append(.removeKeyRecord(lane.partition, key: key))
        }
        if let sent = draft.keptPolicy {
            var layer = entry?.policy ?? PolicyLayer()
            layer.take(sent)
            changes.append(.setPolicy(lane, layer))
        }
        if entry?.pin == .high { queue.book.withLock { $0.setHighPin(true, of: lane) } }
        return changes
    }

    /// DELETE of what was never sent: in effect without the origin. Its receipt is `delivered`, answered with 204.
    private func finishUnsent(_ operation: inout Operation, at now: Double) {
        operation.kind = .edit
        operation.target = operation.temporaryTarget ?? operation.target
        operation.temporaryTarget = nil
        operation.method = .delete
        operation.finish(as: .delivered, reason: Reason.coalesced, at: now)
        operation.lastAnswer = KeptAnswer(status: 204, fields: HTTPFields())
    }
}

extension Operation {
    /// Waits for the time that the origin named, the later one of several.
    fileprivate mutating func wait(until time: Double?) {
        guard let time else { return }
        nextAttemptAt = max(nextAttemptAt ?? time, time)
        reason = Reason.retryAfter
    }
}
