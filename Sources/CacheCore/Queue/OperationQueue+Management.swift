package import HTTPModel
import Synchronization

extension OperationQueue {
    package func onlineWriteSucceeded(on key: EntryKey) async throws {
        try await holding(key, whole: false) {
            let (operations, conflicts) = book.withLock { ($0.lane(key), $0.conflicts(of: key)) }
            var changes: [StoreChange] = conflicts.map { .putConflict($0.closed(at: clock.now)) }
            if operations.first?.state.isStopped ?? false {
                changes += operations.filter { $0.state.isStopped || $0.kind != .action }.map {
                    finished($0, as: .superseded, reason: $0.reason)
                }
            }
            if !changes.isEmpty { try await commit(changes) }
        }
    }

    package func record(_ conflict: Conflict, with answer: KeyRecord?) async throws {
        try await holding(conflict.key, whole: false) {
            var changes = outdated(by: conflict) + [.putConflict(conflict)]
            if let answer { changes.append(.putKeyRecord(answer)) }
            try await commit(changes)
        }
    }

    /// What becomes of the open conflicts that were there before one of the same entry: those of writes that left nothing behind close,
    /// the newer one stands for them. Those of other operations that have stopped stay, and show the newest server version, as does a
    /// younger one where an older one has learnt of it.
    func outdated(by newest: Conflict) -> [StoreChange] {
        book.withLock { $0.conflicts(of: newest.key) }.compactMap { conflict in
            guard conflict.id != newest.id else { return nil }
            let hasOperation = conflict.operationID.map { $0 != newest.operationID && operation($0) != nil } ?? false
            guard hasOperation || conflict.createdAt > newest.createdAt else {
                return .putConflict(conflict.closed(at: clock.now))
            }
            var told = conflict
            told.server = newest.server ?? conflict.server
            told.serverIsLatest = newest.serverIsLatest
            guard told != conflict else { return nil }
            told.revision += 1
            return .putConflict(told)
        }
    }

    package func recordDropped(_ draft: WriteDraft, conflict: Conflict) async throws -> Operation {
        let now = clock.now
        let base = conflict.base.map {
            Base(etag: $0.etag, lastModified: $0.lastModified, mediaType: $0.mediaType, content: nil)
        }
        let id = IDs.operation(now: now)
        var operation = Operation(
            id: id,
            sequence: book.withLock { $0.takeSequence { store.sequence(after: $0, for: draft.key.target) } },
            kind: draft.kind,
            method: draft.method, partition: draft.key.partition, target: draft.key.target, fields: draft.fields,
            body: nil, effective: nil, effectiveType: draft.fields["Content-Type"], tag: IDs.tag(of: id),
            precondition: draft.precondition, preconditionIsClients: draft.precondition != .none,
            base: base ?? .unknown, idempotencyKey: draft.idempotencyKey ?? IDs.idempotencyKey(of: id),
            fingerprint: draft.fingerprint, policy: draft.policy, createdAt: now)
        operation.attempts = 1
        operation.wasSent = true
        operation.lastAnswer = conflict.originAnswer
        operation.conflictID = conflict.id
        operation.finish(as: .cancelled, reason: Reason.serverWins, at: now)
        var record = conflict
        record.operationID = operation.id
        record.closedAt = now
        try await holding(draft.key, whole: false) {
            try await commit([.putConflict(record), .putOperation(operation)])
        }
        return operation
    }

    package func retry(_ id: OperationID) async throws -> Operation {
        if let waiting = try await hurry(id) { return waiting }
        return try await changingStopped(id) { operation in
            if operation.reason == Reason.noTarget {
                throw Problem(.notFailed, "It names a target that never became real. Edit or discard it.")
            }
            return [operation]
        }
    }

    /// Makes one that waits due at once; nil where it has stopped or is under way.
    private func hurry(_ id: OperationID) async throws -> Operation? {
        guard let found = operation(id) else { throw notFound(id) }
        return try await holding(found.lane, whole: false) {
            guard var operation = self.operation(id) else { throw notFound(id) }
            guard operation.state == .pending || operation.state == .unknown else { return nil }
            guard operation.reason != Reason.credential else {
                throw Problem(.notFailed, "It waits for a credential of its identity. Send a request with one.")
            }
            if operation.hurry(settled: settled) { try await commit([.putOperation(operation)]) }
            return operation
        }
    }

    package func edit(_ id: OperationID, fields: HTTPFields?, body: Content?) async throws -> Operation {
        try await changingStopped(id) { operation in
            if resolve(operation.target, of: operation.partition) == .gone {
                throw Problem(.notFailed, "Its target never became real. Discard it and write to another.")
            }
            if let fields { operation.fields = fields }
            if let body { operation.body = body }
            operation.keyRound += 1
            operation.tag = IDs.tag(ofChanged: id)
            let named = try await namedIDs(
                target: operation.target, fields: operation.fields, body: operation.body,
                type: operation.fields["Content-Type"])
            let lane = operation.lane
            operation.dependsOn = book.withLock { book in
                book.creates(named: named, of: lane.partition).filter { book.operations[$0]?.lane != lane }
            }
            let base = operation.base.content.map { Representation(content: $0, mediaType: operation.base.mediaType) }
            try await remake(&operation, from: base)
            let shown = operation.effective.map { Representation(content: $0, mediaType: operation.effectiveType) }
            let later = try await remade(book.withLock { [operation] in $0.later(than: operation) }, from: shown)
            return [operation] + later
        }
    }

    /// Makes a stopped operation pending again, with what `change` makes of it and of those behind it.
    private func changingStopped(
        _ id: OperationID, _ change: (inout Operation) async throws -> [Operation]
    ) async throws -> Operation {
        guard let found = operation(id) else { throw notFound(id) }
        return try await holding(found.lane, whole: false) {
            guard var operation = self.operation(id) else { throw notFound(id) }
            guard operation.state.isStopped else {
                throw Problem(.notFailed, "Only what has stopped can be retried or edited; this is \(operation.state).")
            }
            var changed = try await change(&operation)
            operation.state = .pending
            operation.reason = nil
            operation.nextAttemptAt = nil
            operation.attempts = 0
            changed[0] = operation
            try await commit(changed.map { .putOperation($0) })
            return operation
        }
    }

    func notFound(_ id: OperationID) -> Problem {
        Problem(.notFound, "No unfinished operation has the id \(id).")
    }

    // MARK: Remaking

    /// The operations with their effective copies made anew, one upon the other. Throws `patchConflict`, naming the first whose
    /// patch no longer applies.
    func remade(_ operations: [Operation], from shown: Representation?) async throws -> [Operation] {
        var shown = shown
        var result: [Operation] = []
        for var operation in operations {
            if operation.kind != .action {
                do {
                    try await remake(&operation, from: shown)
                } catch let problem as Problem where problem.code == .patchConflict {
                    throw Problem(
                        .patchConflict,
                        "The operation \(operation.id) behind it could no longer be applied. Discard the later ones first, or all "
                            + "edits of the target with DELETE /cache/entry?target=…&discard=true.")
                }
                shown = operation.effective.map { Representation(content: $0, mediaType: operation.effectiveType) }
            }
            result.append(operation)
        }
        return result
    }

    /// Makes the effective copy anew from body and method.
    func remake(_ operation: inout Operation, from shown: Representation?) async throws {
        let type = operation.fields["Content-Type"]
        switch (operation.kind, operation.method) {
        case (.action, _): return
        case (.create, _):
            operation.effective = try await withTemporaryID(
                operation.body, type: type, collection: operation.target,
                id: operation.temporaryTarget.flatMap { TemporaryTarget.id(of: $0) } ?? "")
            operation.effectiveType = type
        case (_, .delete):
            operation.effective = nil
            operation.effectiveType = nil
        case (_, .patch):
            let made = try await patched(shown, by: operation.body, type: type)
            if made != operation.effective { operation.tag = IDs.tag(ofChanged: operation.id) }
            operation.effective = made
            operation.effectiveType = shown?.mediaType
        default:
            operation.effective = operation.body
            operation.effectiveType = type
        }
    }

    // MARK: Adopting

    package func adopt(from: PartitionID, to: PartitionID) async throws {
        guard from != to else { return }
        let anyLane = EntryKey(partition: from, target: Target(unchecked: ""))
        try await holding(anyLane, whole: true) {
            let isBusy = book.withLock { book in
                book.operations.values.contains { $0.partition == from && $0.state == .sending }
            }
            if isBusy {
                throw Problem(.operationBusy, "Writes of that partition are under way. Try again in a moment.")
            }
            try await commit([.movePartition(from: from, to: to)])
        }
    }
}
