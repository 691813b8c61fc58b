import HTTPModel
import Synchronization

/// Giving local edits up (design 5, "Failed").
extension OperationQueue {
    package func discard(_ id: OperationID, cascade: Bool, force: Bool = false) async throws -> [Operation] {
        guard let found = operation(id) else { throw notFound(id) }
        return try await holding(found.lane, whole: true) {
            try await discardHeld(id, cascade: cascade, force: force)
        }
    }

    /// The same under the lock of the whole queue.
    private func discardHeld(_ id: OperationID, cascade: Bool, force: Bool) async throws -> [Operation] {
        guard let operation = operation(id) else { throw notFound(id) }
        let (dependents, later) = book.withLock { ($0.allDependents(of: id), $0.later(than: operation)) }
        guard dependents.isEmpty || cascade else {
            throw Problem(
                .hasDependents,
                "Discard those too with cascade=true: \(dependents.map(\.id.text).joined(separator: ", ")).")
        }
        let going = [operation] + dependents
        let gone = Set(going.map(\.id))
        let rest = later.filter { !gone.contains($0.id) }
        let rebased = try await rebase(rest, without: operation)
        return try await remove(going, keeping: rebased, force: force)
    }

    package func discard(_ ids: [OperationID], force: Bool) async throws -> [Operation] {
        let anyLane = EntryKey(partition: .none, target: Target(unchecked: ""))
        return try await holding(anyLane, whole: true) {
            let (together, others) = book.withLock { $0.removable(ids, force: force) }
            var gone: [Operation] = []
            var rest = together[...]
            while let first = rest.first {
                // A commit that concerns several stores may fail in one of them.
                let place = store.place(of: first.lane.target)
                let here = rest.prefix { store.place(of: $0.lane.target) == place }
                gone += try await remove(Array(here), keeping: [], force: force)
                rest = rest[here.endIndex...]
            }
            for operation in others {
                do {
                    gone += try await discardHeld(operation.id, cascade: true, force: force)
                } catch let problem as Problem
                    where [.operationBusy, .notFound, .patchConflict].contains(problem.code)
                {
                    continue
                }
            }
            return gone
        }
    }

    package func discardAll(of key: EntryKey, force: Bool) async throws {
        try await holding(key, whole: true) {
            let operations = book.withLock { $0.lane(key) }
            let others = book.withLock { book in
                operations.flatMap { book.allDependents(of: $0.id) }.filter { $0.lane != key }
            }
            guard others.isEmpty else {
                throw Problem(
                    .hasDependents,
                    "Other queued writes name this target: \(others.map(\.id.text).joined(separator: ", ")).")
            }
            _ = try await remove(operations, keeping: [], force: force)
            let conflicts = book.withLock { $0.conflicts(of: key) }
            if !conflicts.isEmpty { try await commit(conflicts.map { .putConflict($0.closed(at: clock.now)) }) }
        }
    }

    private func remove(
        _ going: [Operation], keeping rebased: [Operation], force: Bool
    ) async throws -> [Operation] {
        if let busy = going.first(where: { $0.state == .sending }) {
            throw Problem(
                .operationBusy, "The operation \(busy.id) is on its way to the origin. Try again in a moment.")
        }
        if !force, let busy = going.first(where: { $0.state == .unknown }) {
            throw Problem(
                .operationBusy,
                "The operation \(busy.id) may be in effect already. Wait until that is known, or give it up with "
                    + "force=true: what it did at the origin stays.")
        }
        let now = clock.now
        let gone = going.map { operation in
            var gone = operation
            gone.finish(as: .cancelled, reason: Reason.discarded, at: now)
            return gone
        }
        var changes = gone.map { StoreChange.putOperation($0) }
        for operation in going {
            if let temporary = operation.temporaryTarget {
                changes.append(.putAlias(TargetAlias(partition: operation.partition, temporary: temporary, real: nil)))
            }
            if let conflict = book.withLock({ book in operation.conflictID.flatMap { book.openConflicts[$0] } }) {
                changes.append(.putConflict(conflict.closed(at: now)))
            }
        }
        changes += rebased.map { .putOperation($0) }
        guard !changes.isEmpty else { return [] }
        try await commit(changes)
        return gone
    }

    /// Later edits of a lane after one before them is gone: they start where that one started, or from the newest server version
    /// where the origin had refused it.
    private func rebase(_ later: [Operation], without gone: Operation) async throws -> [Operation] {
        guard gone.kind != .action, later.contains(where: { $0.kind != .action }) else { return [] }
        if let before = book.withLock({ $0.lastEdit(before: gone) }) {
            return try await remade(
                later, from: before.effective.map { Representation(content: $0, mediaType: before.effectiveType) })
        }
        var base = gone.base
        if gone.state.isStopped {
            let entry = try await storeCall { () async throws(StoreError) in try await store.entry(gone.lane) }
            if let copy = entry?.copies.first { base = Base(of: copy) }
        }
        var rebased = try await remade(
            later, from: base.content.map { Representation(content: $0, mediaType: base.mediaType) })
        if let index = rebased.firstIndex(where: { $0.kind != .action }) {
            let isOwn = !ClientPrecondition.ownTags(in: rebased[index].precondition).isEmpty
            if !rebased[index].preconditionIsClients || isOwn {
                rebased[index].base = base
                rebased[index].precondition =
                    isOwn ? base.strictPrecondition : base.guardPrecondition(under: rebased[index].policy)
                rebased[index].keyRound += 1
            }
        }
        return rebased
    }
}
