import HTTPModel

extension LaneBook {
    /// How many client keys one operation answers for; then the next edit begins a new operation, so that rows stay small.
    private static var mergedKeysLimit: Int { 64 }

    /// What becomes of the operations in a lane when a write arrives.
    struct Placement: Sendable {
        /// Replaced by the new operation.
        var replaced: [Operation] = []
        /// The one of `replaced` that the write merges into.
        var merged: Operation?
        /// DELETE onto what the origin has never heard of: nothing remains to be sent.
        var removesBoth = false
        /// The last edit that stays in the lane before the new operation.
        var predecessor: Operation?
        /// Whether stopped operations are replaced: the newest server version known guards, and conflicts are closed.
        var restartsLane = false
    }

    /// Design 5, "Coalescing" and "States" (stopped lanes).
    func place(
        _ method: HTTPMethod, _ kind: OperationKind, onto lane: EntryKey, coalesce: Bool, named: [OperationID]
    ) throws -> Placement {
        let ids = lanes[lane] ?? []
        guard kind != .action, kind != .create, let last = ids.last.flatMap({ operations[$0] }) else {
            return Placement()
        }
        if let head = ids.first.flatMap({ operations[$0] }), head.state.isStopped {
            if method == .patch {
                throw Problem(
                    .laneStopped,
                    "Resolve, retry or discard the operation \(head.id) first, or replace the target by a PUT.")
            }
            return try restart(self.lane(lane), head: head, method: method)
        }
        guard coalesce, kind == .edit, canMerge(method, onto: last, named: named) else {
            return Placement(predecessor: lastEdit(of: lane))
        }
        let isUnheardOf = last.kind == .create || (last.method == .put && last.precondition == .ifNoneMatch("*"))
        return Placement(
            replaced: [last], merged: last, removesBoth: method == .delete && isUnheardOf,
            predecessor: lastEdit(of: lane, but: last.id))
    }

    private func restart(_ operations: [Operation], head: Operation, method: HTTPMethod) throws -> Placement {
        let replaced = operations.filter { $0.state.isStopped || $0.kind != .action }
        guard head.kind == .create else { return Placement(replaced: replaced, restartsLane: true) }
        if method == .delete, !(dependents[head.id] ?? []).isEmpty {
            throw Problem(
                .hasDependents, "Other queued writes name this one's target. Discard it with cascade=true instead.")
        }
        return Placement(
            replaced: replaced, merged: head, removesBoth: method == .delete, predecessor: nil, restartsLane: true)
    }

    private func canMerge(_ method: HTTPMethod, onto last: Operation, named: [OperationID]) -> Bool {
        guard last.state == .pending, !last.wasSent, last.mergedKeys.count < Self.mergedKeysLimit else { return false }
        // What waits for the last one must not be waited for by the merged one.
        if !named.isEmpty {
            let waiting = Set(allDependents(of: last.id).map(\.id))
            if named.contains(where: waiting.contains) { return false }
        }
        switch (last.kind, last.method) {
        case (.create, _): return method != .delete || (dependents[last.id] ?? []).isEmpty
        case (.edit, .put): return true
        case (.edit, .patch): return method == .delete
        default: return false
        }
    }
}
