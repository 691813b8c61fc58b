import HTTPModel
import Synchronization

extension OperationQueue {
    package func accept(_ draft: WriteDraft) async throws -> Operation {
        guard let key = draft.idempotencyKey else { return try await acceptAnew(draft) }
        return try await acceptOnce(draft, under: LaneBook.Name(key, of: draft.key.partition))
    }

    /// Two requests under one key at once: the second finds the first here.
    @inline(never)
    private func acceptOnce(_ draft: WriteDraft, under name: LaneBook.Name) async throws -> Operation {
        await keyLocks.lock(name)
        defer { keyLocks.unlock(name) }
        if let earlier = try await repeated(draft) { return earlier }
        return try await acceptAnew(draft)
    }

    private func acceptAnew(_ draft: WriteDraft) async throws -> Operation {
        while true {
            let acceptance = Acceptance(draft, as: try current(draft.key), in: self)
            let accepted = try await holding(acceptance.lane, whole: acceptance.reachesAcrossLanes) {
                try await acceptance.run()
            }
            if let accepted { return accepted }
        }
    }

    /// The target as it is called now. An operation on a target that never became real is refused.
    private func current(_ key: EntryKey) throws -> EntryKey {
        switch resolve(key.target, of: key.partition) {
        case .itself: return key
        case .moved(let target): return EntryKey(partition: key.partition, target: target)
        case .gone: throw Problem.temporaryGone
        }
    }

    /// A resolution makes the stopped operation pending again, in its own place before the later ones (design 6).
    @inline(never)
    func resolveInPlace(
        _ head: Operation, with draft: WriteDraft, later: [Operation]
    ) async throws -> Operation {
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
        operation.tag = IDs.tag(ofChanged: operation.id)
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
