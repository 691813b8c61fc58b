import HTTPModel

/// Operations that come and go with their store.
extension LaneBook {
    /// Takes over what another store brought. What it was sending has an unknown outcome, as at a start.
    mutating func takeIn(_ image: QueueImage) {
        let new = LaneBook(image)
        lastSequence = max(lastSequence, new.lastSequence)
        for alias in image.aliases { apply(.putAlias(alias)) }
        for conflict in image.conflicts { apply(.putConflict(conflict)) }
        for operation in new.operations.values.sorted(by: { $0.precedes($1) })
        where operations[operation.id] == nil { apply(.putOperation(operation)) }
    }

    private mutating func apply(_ change: StoreChange) { _ = apply([change]) }

    /// Lets go of what a store takes with it; nothing of it becomes final. The operations.
    mutating func letGo(_ image: QueueImage) -> [Operation] {
        let going = image.operations.compactMap { operations[$0.id] }
        for operation in going { forget(operation) }
        for conflict in image.conflicts { apply(.putConflict(conflict.closed(at: 0))) }
        for alias in image.aliases { forget(alias) }
        return going
    }

    /// Whether operations that stay name some that go, or the other way round: their order would be lost.
    func isTied(_ going: Set<OperationID>) -> Bool {
        operations.values.contains { operation in
            operation.dependsOn.contains { id in
                operations[id] != nil && going.contains(id) != going.contains(operation.id)
            }
        }
    }

    /// Whether none of the changes would put an operation before one of its lane that is on its way from here.
    func canTakeOver(_ changes: [StoreChange]) -> Bool {
        for case .putOperation(let operation) in changes where operations[operation.id] == nil {
            let later = (lanes[operation.lane] ?? []).compactMap { operations[$0] }
            if later.contains(where: { operation.precedes($0) && claims[$0.id] != nil }) { return false }
        }
        return true
    }

    /// Those of the operations that are being sent, but not from here, as of unknown outcome.
    func orphans(of ids: [OperationID]) -> [Operation] {
        ids.compactMap { operations[$0] }.filter { $0.state == .sending && claims[$0.id] == nil }.map { operation in
            var operation = operation
            operation.state = .unknown
            operation.nextAttemptAt = nil
            return operation
        }
    }
}
