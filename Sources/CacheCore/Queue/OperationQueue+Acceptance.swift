import HTTPModel
import Synchronization

extension OperationQueue {
    package func accept(_ draft: WriteDraft) async throws -> Operation {
        let name = draft.idempotencyKey.map { LaneBook.Name($0, of: draft.key.partition) }
        if let name { await keyLocks.lock(name) }
        defer { if let name { keyLocks.unlock(name) } }
        // Two requests under one key at once: the second finds the first here.
        if let earlier = try await repeated(draft) { return earlier }
        while true {
            var draft = draft
            draft.key = try current(draft.key)
            let temporary = draft.kind == .create ? newMember(of: draft.key.target) : nil
            let lane = EntryKey(partition: draft.key.partition, target: temporary ?? draft.key.target)
            // What others depend on changes only under the lock of the whole queue.
            let whole = draft.kind != .create && TemporaryTarget.id(of: lane.target) != nil
            let accepted = try await holding(lane, whole: whole) { () async throws -> Operation? in
                // A temporary target may have become real while the lock was waited for.
                guard resolve(draft.key.target, of: draft.key.partition) == .itself else { return nil }
                // Stores come and go under the lock of the whole queue only.
                if let place = draft.place, place != store.place(of: lane.target) { throw Problem.from(.detached) }
                return try await accept(draft, temporary: temporary, in: lane)
            }
            if let accepted { return accepted }
        }
    }

    /// The target as it is called now. An operation on a target that never became real is refused.
    private func current(_ key: EntryKey) throws -> EntryKey {
        switch resolve(key.target, of: key.partition) {
        case .itself: return key
        case .moved(let target): return EntryKey(partition: key.partition, target: target)
        case .gone:
            throw Problem(
                .notFound, "This temporary target is gone: the origin named no real one, or it was discarded.",
                status: 410)
        }
    }

    private func newMember(of collection: Target) -> Target {
        let path = collection.path
        return Target(unchecked: path + (path.utf8.last == UInt8(ascii: "/") ? "" : "/") + IDs.temporaryMember())
    }

    private func accept(_ draft: WriteDraft, temporary: Target?, in lane: EntryKey) async throws -> Operation {
        var draft = draft
        let named = try await rewriteNames(in: &draft)
        let entry = try await storeCall { () async throws(StoreError) -> Entry? in
            temporary == nil ? try await store.entryIfKept(lane) : nil
        }
        let isCoalescing = settings.current.coalesce && draft.initialState == .pending
        let (placement, edit, editedAt, conflicts, dependsOn, operations) = try book.withLock { book in
            let creates = book.creates(named: named, of: lane.partition).filter { book.operations[$0]?.lane != lane }
            let placement = try book.place(draft.method, draft.kind, onto: lane, coalesce: isCoalescing, named: creates)
            return (
                placement, book.localEdit(of: lane), book.lastEdit(of: lane)?.createdAt, book.conflicts(of: lane),
                creates, draft.kind == .resolution ? book.lane(lane) : []
            )
        }
        if draft.kind == .resolution, let head = operations.first, head.state == .conflict {
            return try await resolveInPlace(head, with: draft, later: Array(operations.dropFirst()))
        }

        let copies = entry?.copies ?? []
        let copy = copies.first { !$0.fields.contains("Content-Encoding") } ?? copies.first
        let known = newestBase(copy: copy, conflicts: placement.restartsLane ? conflicts : [])
        let judgement = try await judge(draft, edit: edit, editedAt: editedAt, copies: copies)

        let now = clock.now
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
        setPrecondition(of: &operation, by: judgement, placement: placement, known: known, draft: draft)
        if let merged = placement.merged { merge(merged, into: &operation, from: draft) }
        let shown =
            edit.map { edit in
                edit.content.map { Representation(content: $0, mediaType: edit.mediaType) }
            } ?? Self.representation(of: copy)
        try await makeContent(of: &operation, from: draft, merged: placement.merged, shown: shown)
        if placement.removesBoth { finishUnsent(&operation, at: now) }

        operation.sequence = book.withLock { $0.takeSequence { store.sequence(after: $0, for: lane.target) } }
        var changes = placement.replaced.map { superseded($0, by: id) }
        changes.append(.putOperation(operation))
        if placement.removesBoth, let gone = placement.merged?.temporaryTarget {
            changes.append(.putAlias(TargetAlias(partition: lane.partition, temporary: gone, real: nil)))
        } else if let merged = placement.merged {
            changes += book.withLock { $0.redirectDependents(of: merged.id, to: id) }
        }
        if placement.restartsLane, draft.kind != .resolution {
            changes += conflicts.map { .putConflict($0.closed(at: now)) }
        }
        if draft.initialState == .unknown, let key = draft.idempotencyKey {
            changes.append(.removeKeyRecord(lane.partition, key: key))
        }
        if entry?.pin == .high { book.withLock { $0.setHighPin(true, of: lane) } }
        do { try await commit(changes) } catch var problem as Problem where problem.code == .mirrorFailed {
            problem.fields["Sync-Operation"] = operation.id.text
            throw problem
        }
        return operation
    }

    /// Takes real names for temporary ones that are real by now; the temporary ids that remain.
    private func rewriteNames(in draft: inout WriteDraft) async throws -> [String] {
        let type = draft.fields["Content-Type"]
        let named = try await namedIDs(target: draft.key.target, fields: draft.fields, body: draft.body, type: type)
        guard !named.isEmpty else { return [] }
        let partition = draft.key.partition
        let renamings = book.withLock { book in
            named.compactMap { id -> Renaming? in
                guard let alias = book.aliases[LaneBook.Name(id, of: partition)], let real = alias.real else {
                    return nil
                }
                return Renaming(temporary: alias.temporary, real: real, jsonID: nil)
            }
        }
        guard !renamings.isEmpty else { return named }
        for renaming in renamings {
            for index in draft.fields.indices {
                draft.fields[index].value = renaming.rewriteText(draft.fields[index].value)
            }
        }
        draft.body = try await rewritten(draft.body, type: type, by: renamings)
        return named
    }

    private func judge(
        _ draft: WriteDraft, edit: LocalEdit?, editedAt: Double?, copies: [ServerCopy]
    ) async throws -> ClientPrecondition.Judgement {
        // The precondition of a create is about the collection, which the origin knows best.
        if draft.kind == .create, ClientPrecondition.ownTags(in: draft.precondition).isEmpty {
            return draft.precondition == .none ? .guarded : .explicit(draft.precondition, nil)
        }
        var delivered: [String: String] = [:]
        for tag in ClientPrecondition.ownTags(in: draft.precondition) where tag != edit?.tag {
            delivered[tag] = await serverTag(forDelivered: tag, of: draft.key)
        }
        return try ClientPrecondition(
            edit: edit, editedAt: editedAt, copies: copies, now: clock.now, delivered: delivered
        ).judge(draft.precondition)
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

    private static func representation(of copy: ServerCopy?) -> Representation? {
        guard let copy, copy.status == 200, !copy.fields.contains("Content-Encoding") else { return nil }
        return Representation(content: copy.content, mediaType: copy.fields["Content-Type"])
    }

    /// Guard, base and the client's own precondition (design 4).
    private func setPrecondition(
        of operation: inout Operation, by judgement: ClientPrecondition.Judgement, placement: LaneBook.Placement,
        known: (base: Base, isAbsent: Bool), draft: WriteDraft
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
    private func merge(_ merged: Operation, into operation: inout Operation, from draft: WriteDraft) {
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
        operation.dependsOn = merged.dependsOn + operation.dependsOn.filter { !merged.dependsOn.contains($0) }
    }

    /// Body and effective copy.
    private func makeContent(
        of operation: inout Operation, from draft: WriteDraft, merged: Operation?, shown: Representation?
    ) async throws {
        let type = draft.fields["Content-Type"]
        if let merged, merged.kind == .create, let id = merged.temporaryTarget.flatMap({ TemporaryTarget.id(of: $0) }) {
            guard draft.method != .delete else { return }
            operation.method = merged.method
            if draft.method == .patch {
                let document = merged.body.map { Representation(content: $0, mediaType: merged.effectiveType) }
                operation.fields = merged.fields
                operation.body = try await patched(document, by: draft.body, type: type)
            } else {
                operation.body = try await withoutTemporaryID(
                    draft.body, type: type, collection: merged.target, id: id)
            }
            operation.effectiveType = operation.fields["Content-Type"]
            operation.effective = try await withTemporaryID(
                operation.body, type: operation.effectiveType, collection: merged.target, id: id)
            return
        }
        switch (draft.kind, draft.method) {
        case (.action, _): operation.effectiveType = nil
        case (.create, _):
            let id = operation.temporaryTarget.flatMap { TemporaryTarget.id(of: $0) } ?? ""
            operation.effective = try await withTemporaryID(
                draft.body, type: type, collection: operation.target, id: id)
        case (_, .delete): operation.effectiveType = nil
        case (_, .patch):
            operation.effective = try await patched(shown, by: draft.body, type: type)
            operation.effectiveType = shown?.mediaType
            if let merged, merged.method == .put {
                operation.method = .put
                operation.fields = merged.fields
                operation.body = operation.effective
            }
        default: operation.effective = draft.body
        }
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

    /// A resolution makes the stopped operation pending again, in its own place before the later ones (design 6).
    private func resolveInPlace(_ head: Operation, with draft: WriteDraft, later: [Operation]) async throws -> Operation
    {
        var operation = head
        operation.kind = .resolution
        operation.method = draft.method
        operation.fields = draft.fields
        operation.body = draft.body
        operation.base = draft.base ?? head.base
        operation.preconditionIsClients = draft.precondition != .none
        operation.precondition =
            draft.precondition == .none ? operation.base.strictPrecondition : draft.precondition
        operation.state = draft.initialState
        operation.reason = nil
        operation.nextAttemptAt = nil
        operation.keyRound += 1
        operation.tag = IDs.tag()
        if draft.initialState == .unknown {
            operation.wasSent = true
            operation.reason = Reason.settle
            operation.nextAttemptAt = clock.now + settings.current.settle
        }
        if let key = draft.idempotencyKey, draft.initialState == .unknown {
            // It was sent under this key, which stays with its bytes.
            operation.mergedKeys.insert(operation.idempotencyKey, at: 0)
            operation.fingerprints.insert(draft.fingerprint, at: 0)
            operation.idempotencyKey = key
            operation.keyRound = 1
        } else if let key = draft.idempotencyKey {
            operation.mergedKeys.append(key)
            operation.fingerprints.append(draft.fingerprint)
        }
        let base = operation.base.content.map { Representation(content: $0, mediaType: operation.base.mediaType) }
        try await remake(&operation, from: base)
        let shown = operation.effective.map { Representation(content: $0, mediaType: operation.effectiveType) }
        let rebased = try await remade(later, from: shown)
        try await commit(([operation] + rebased).map { .putOperation($0) })
        return operation
    }
}
