import HTTPModel
import Synchronization

extension OperationQueue {
    package func claim(
        limit: Int, now: Double, membersBefore: @Sendable (EntryKey) -> MembersBefore?
    ) async throws -> [Claim] {
        let taken = book.withLock { book in
            book.candidates(limit: limit, now: now) {
                !turns.isTaken($0) && store.delivers($0.target) && locks.tryLock($0)
            }
        }
        guard !taken.isEmpty else { return [] }
        var wasMissed = false
        defer {
            for operation in taken where locks.unlock(operation.lane) { wasMissed = true }
            if wasMissed { workAppeared() }
        }
        let isIdempotent = settings.current.idempotentOrigin
        let claimed = taken.map { before in
            var operation = before
            operation.claim()
            // One of unknown outcome that has none yet was claimed and never left.
            if operation.kind == .create, before.state == .pending, operation.membersBefore == nil {
                let collection = EntryKey(partition: operation.partition, target: operation.target)
                operation.membersBefore = isIdempotent ? .notRead : membersBefore(collection)
            }
            // What an edit before it left open is settled at the latest here: an own tag never leaves.
            if !ClientPrecondition.ownTags(in: operation.precondition).isEmpty {
                operation.precondition = operation.base.strictPrecondition
            }
            return operation
        }
        let changes = claimed.map { StoreChange.putOperation($0) }
        do throws(StoreError) {
            try await store.commit(changes, durable: true)
        } catch let error where error.isAccepted {
            // The primary side knows what is on its way: that is enough to go on.
        } catch {
            book.withLock { book in for operation in taken { book.refresh(operation.lane) } }
            throw Problem.from(error)
        }
        book.withLock { book in for operation in taken { book.noteClaim(operation) } }
        show(changes)
        return zip(claimed, taken).map { Claim(operation: $0, mustVerify: $1.state == .unknown) }
    }

    package func keep(_ before: MembersBefore, of id: OperationID) async throws {
        guard let operation = operation(id) else { return }
        try await holding(operation.lane, whole: false) {
            guard var operation = self.operation(id), operation.state == .sending else { return }
            operation.membersBefore = before
            try await commit([.putOperation(operation)])
        }
    }

    package func record(_ outcome: DeliveryOutcome, of id: OperationID) async throws {
        guard let operation = operation(id) else { return }
        // A create gives its target away, which others may name.
        try await holding(operation.lane, whole: operation.kind == .create) {
            guard let operation = self.operation(id), operation.state == .sending else { return }
            let changes = try await changes(of: outcome, for: operation)
            try await commit(changes)
        }
    }

    package func record(_ outcomes: [(id: OperationID, outcome: DeliveryOutcome)]) async -> [OperationID] {
        var changes: [StoreChange] = []
        var held: [(id: OperationID, lane: EntryKey)] = []
        var left: [OperationID] = []
        for (id, outcome) in outcomes {
            guard let operation = operation(id) else { continue }
            guard operation.kind != .create, locks.tryLock(operation.lane) else {
                left.append(id)
                continue
            }
            held.append((id, operation.lane))
            guard let sent = self.operation(id), sent.state == .sending else { continue }
            do { changes += try await self.changes(of: outcome, for: sent) } catch { left.append(id) }
        }
        if !changes.isEmpty {
            do { try await commit(changes) } catch {
                // One may have spoiled it for all.
                left = outcomes.map(\.id)
            }
        }
        var wasMissed = false
        for (_, lane) in held where locks.unlock(lane) { wasMissed = true }
        if wasMissed { workAppeared() }
        return left
    }

    private func changes(of outcome: DeliveryOutcome, for sent: Operation) async throws -> [StoreChange] {
        var operation = sent
        switch outcome {
        case .delivered(let answer, _, _, let copies, _, _, true)
        where book.withLock({ $0.nextEdit(after: sent) }).map(needsBase) ?? false:
            operation.lastAnswer = answer
            operation.state = .unknown
            operation.reason = Reason.settle
            operation.nextAttemptAt = clock.now + settings.current.settle
            return copies + [.putOperation(operation)]
        case .delivered(let answer, let newTarget, let newBase, let copies, let memberName, let unseen, _):
            operation.memberName = memberName
            return try await delivered(
                operation, answer: answer, newTarget: newTarget, newBase: newBase, copies: copies, unseen: unseen)
        case .retry(let time, let answer, let reason):
            operation.lastAnswer = answer
            operation.state = .pending
            operation.reason = reason
            operation.nextAttemptAt = time
            if let limit = settings.current.maxAttempts, operation.attempts >= limit {
                operation.state = .failed
                operation.reason = Reason.maxAttempts
                operation.nextAttemptAt = nil
            }
        case .unknown(let time, let answer, let reason):
            operation.lastAnswer = answer ?? operation.lastAnswer
            operation.state = .unknown
            operation.reason = reason
            operation.nextAttemptAt = time
        case .notSent: operation = beforeClaim(sent)
        case .lookedInVain(let time):
            operation = beforeClaim(sent)
            operation.reason = nil
            operation.nextAttemptAt = time
        case .waitsForCredential:
            operation = beforeClaim(sent)
            operation.reason = Reason.credential
        case .failed(let reason, let answer):
            operation.lastAnswer = answer
            operation.state = .failed
            operation.reason = reason
        case .conflict(var conflict, let answer, let copies):
            conflict.operationID = operation.id
            operation.lastAnswer = answer
            operation.state = .conflict
            operation.reason = conflict.kind == .outcomeUnknown ? Reason.outcomeUnknown : nil
            operation.conflictID = conflict.id
            return copies + outdated(by: conflict) + [.putConflict(conflict), .putOperation(operation)]
        case .dropped(let conflict, let copies): return try await dropped(sent, conflict: conflict, copies: copies)
        case .rebased(let precondition, let base):
            operation.state = .pending
            operation.precondition = precondition
            operation.base = base
            operation.keyRound += 1
        }
        return [.putOperation(operation)]
    }

    /// The operation as it was before the claim; an attempt that never left does not count.
    private func beforeClaim(_ sent: Operation) -> Operation {
        guard var before = book.withLock({ $0.claims[sent.id] }) else {
            var operation = sent
            operation.state = .pending
            return operation
        }
        before.nextAttemptAt = nil
        return before
    }

    // MARK: Delivered

    private func delivered(
        _ sent: Operation, answer: KeptAnswer?, newTarget: Target?, newBase: Base, copies: [StoreChange],
        unseen: ConflictVersion?
    ) async throws -> [StoreChange] {
        var operation = sent
        operation.finish(as: .delivered, reason: nil, at: clock.now)
        operation.lastAnswer = answer
        operation.newTarget = newTarget
        var changes = copies
        let (named, later, conflicts) = book.withLock { book in
            (
                sent.kind == .create ? book.named(by: sent) : [],
                sent.kind == .create ? book.later(than: sent) : book.nextEdit(after: sent).map { [$0] } ?? [],
                book.conflicts(of: sent.lane)
            )
        }
        var successors = later
        if sent.kind == .create, let temporary = sent.temporaryTarget {
            changes.append(
                .putAlias(TargetAlias(partition: sent.partition, temporary: temporary, real: newTarget)))
            guard let newTarget else {
                changes.append(.expirePath(sent.partition, path: String(sent.target.path)))
                return changes + [.putOperation(operation)] + named.map { failedWithoutTarget($0) }
            }
            let renaming = Renaming(
                temporary: temporary, real: newTarget,
                jsonID: try await realID(in: answer, collection: sent.target))
            var renamed: [OperationID: Operation] = [:]
            for one in named { renamed[one.id] = try await rename(one, by: renaming) }
            successors = later.map { renamed[$0.id] ?? $0 }
            let behind = Set(later.map(\.id))
            changes += renamed.values.filter { !behind.contains($0.id) }.map { .putOperation($0) }
        }
        if let etag = newBase.etag ?? answer?.fields["ETag"] {
            deliveredTags.withLock { $0.note(sent.tag, is: etag) }
        }
        if sent.kind != .action {
            changes += conflicts.map { .putConflict($0.closed(at: clock.now)) }
            if let index = successors.firstIndex(where: { $0.kind != .action }) {
                follow(&successors[index], onto: newBase)
                if let unseen {
                    let collision = try await collide(successors[index], behind: sent, with: unseen)
                    changes += collision
                    if !collision.isEmpty { successors.remove(at: index) }
                }
            }
        }
        if sent.kind == .create || successors != later { changes += successors.map { .putOperation($0) } }
        let list = collectionPath(of: sent)
        let isNamed = copies.contains { change in
            guard case .expirePath(let partition, let path) = change else { return false }
            return partition == sent.partition && path.hasSameBytes(as: list)
        }
        if !isNamed { changes.append(.expirePath(sent.partition, path: list)) }
        changes.append(.putOperation(operation))
        return changes
    }

    /// Lists that may hold the member: those of the path that it lies in.
    private func collectionPath(of operation: Operation) -> String {
        let path = operation.target.path
        if operation.kind == .create { return String(path) }
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "" }
        return String(path[..<slash])
    }

    /// The next edit of the lane starts from what the one before left (design 5, "Base validator").
    private func follow(_ operation: inout Operation, onto base: Base) {
        guard follows(operation) else { return }
        operation.precondition =
            operation.preconditionIsClients ? base.strictPrecondition : base.guardPrecondition(under: operation.policy)
        operation.base = base
    }

    private func follows(_ operation: Operation) -> Bool {
        let tracks =
            !operation.preconditionIsClients || !ClientPrecondition.ownTags(in: operation.precondition).isEmpty
        return tracks && !operation.wasSent
    }

    /// Whether it is guarded by what the one before it leaves.
    private func needsBase(_ operation: Operation) -> Bool {
        let isGuarded = operation.policy.guardsWrites && operation.policy.conflictResolutionPolicy != .clientWins
        return follows(operation) && (operation.preconditionIsClients || isGuarded)
    }

    /// An edit was made upon the one before it, and the origin holds another version by now: a conflict by the edit's policy, like one
    /// that the origin itself tells of. In the commit of the delivery, so that no restart comes between. Empty: it may go on.
    private func collide(
        _ successor: Operation, behind sent: Operation, with unseen: ConflictVersion
    ) async throws -> [StoreChange] {
        var operation = successor
        let policy = operation.policy.conflictResolutionPolicy
        guard policy != .clientWins, !(unseen.isAbsent && operation.method == .delete) else { return [] }
        let conflict = Conflict(
            id: IDs.record(now: clock.now), key: operation.lane, kind: unseen.isAbsent ? .deletedAtOrigin : .edited,
            operationID: operation.id, method: operation.method, fields: operation.fields,
            base: ConflictVersion(
                isAbsent: sent.method == .delete, mediaType: sent.effectiveType, content: sent.effective),
            client: operation.clientVersion, server: unseen, serverIsLatest: true, originAnswer: nil,
            policy: operation.policy, createdAt: clock.now)
        if policy == .serverWins { return try await dropped(operation, conflict: conflict, copies: []) }
        operation.state = .conflict
        operation.reason = nil
        operation.nextAttemptAt = nil
        operation.conflictID = conflict.id
        return [.putConflict(conflict), .putOperation(operation)]
    }

    private func rename(_ one: Operation, by renaming: Renaming) async throws -> Operation {
        var operation = one
        operation.target = renaming.rewrite(one.target)
        operation.temporaryTarget = one.temporaryTarget.map { renaming.rewrite($0) }
        for index in operation.fields.indices {
            operation.fields[index].value = renaming.rewriteText(operation.fields[index].value)
        }
        operation.body = try await rewritten(one.body, type: one.fields["Content-Type"], by: [renaming])
        operation.effective = try await rewritten(one.effective, type: one.effectiveType, by: [renaming])
        return operation
    }

    private func failedWithoutTarget(_ one: Operation) -> StoreChange {
        var operation = one
        operation.state = .failed
        operation.reason = Reason.noTarget
        operation.nextAttemptAt = nil
        return .putOperation(operation)
    }

    // MARK: Dropped

    /// SERVER_WINS: the edit and those behind it go; both versions stay readable in the conflict's record.
    private func dropped(_ sent: Operation, conflict: Conflict, copies: [StoreChange]) async throws -> [StoreChange] {
        var record = conflict
        record.operationID = sent.id
        record.closedAt = record.closedAt ?? clock.now
        let (later, named) = book.withLock { ($0.later(than: sent), $0.named(by: sent)) }
        var changes = copies + [.putConflict(record)]
        var operation = sent
        operation.conflictID = record.id
        changes.append(finished(operation, as: .cancelled, reason: Reason.serverWins))
        changes += later.map { finished($0, as: .cancelled, reason: Reason.serverWins) }
        if sent.kind == .create, let temporary = sent.temporaryTarget {
            changes.append(.putAlias(TargetAlias(partition: sent.partition, temporary: temporary, real: nil)))
            let behind = Set(later.map(\.id))
            changes += named.filter { !behind.contains($0.id) }.map { failedWithoutTarget($0) }
        }
        return changes
    }
}
