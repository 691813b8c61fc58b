extension LaneBook {
    /// What names one create from now on waits for the operation that it was merged into.
    func redirectDependents(of id: OperationID, to new: OperationID) -> [StoreChange] {
        (dependents[id] ?? []).compactMap { dependent in
            guard var operation = operations[dependent], dependent != new else { return nil }
            operation.dependsOn = operation.dependsOn.map { $0 == id ? new : $0 }
            return .putOperation(operation)
        }
    }

    /// Operations that may name the create's temporary target: those that wait for it, and those behind it in its lane.
    func named(by create: Operation) -> [Operation] {
        var ids = dependents[create.id] ?? []
        ids.formUnion((lanes[create.lane] ?? []).filter { $0 != create.id })
        return ids.compactMap { operations[$0] }.sorted { $0.precedes($1) }
    }

    /// The operations behind this one in its lane.
    func later(than operation: Operation) -> [Operation] {
        var later: [Operation] = []
        for id in (lanes[operation.lane] ?? []).reversed() {
            guard let other = operations[id] else { continue }
            guard operation.precedes(other) else { break }
            later.append(other)
        }
        return later.reversed()
    }

    /// Of the unfinished operations with these ids, the newest first, those that can go together because all that is behind them goes
    /// too; and the others: what is under way, without `force` also what may be in effect, and what stands before it.
    func removable(_ ids: [OperationID], force: Bool) -> (together: [Operation], others: [Operation]) {
        var together: [Operation] = []
        var others: [Operation] = []
        var going: Set<OperationID> = []
        for operation in ids.compactMap({ operations[$0] }).sorted(by: { $1.precedes($0) }) {
            let isBusy = operation.state == .sending || (operation.state == .unknown && !force)
            let behind = later(than: operation) + allDependents(of: operation.id)
            if !isBusy, behind.allSatisfy({ going.contains($0.id) }) {
                going.insert(operation.id)
                together.append(operation)
            } else {
                others.append(operation)
            }
        }
        return (together, others)
    }
}
