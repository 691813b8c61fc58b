import Synchronization

/// Stores are attached, detached, started and stopped while nobody accepts, claims or records.
extension OperationQueue {
    /// How long a delivery that is under way is waited for before its store goes, in seconds.
    private static var patience: Double { 5 }

    /// Runs `attach`, which makes another store reachable, and takes its queue over.
    package func takingIn(_ attach: () async throws -> QueueImage) async throws {
        try await holdingAll {
            let image = try await attach()
            book.withLock { $0.takeIn(image) }
        }
        workAppeared()
    }

    /// Runs `detach`, which makes a store unreachable, and lets go of what `image` says lies in it. Its operations stay where they
    /// are. Unless `leavingOperations`, refused with `operations-pending` where there are unfinished ones; in any case while one
    /// is being sent, and where others depend on them.
    package func lettingGo(
        leavingOperations: Bool, of image: () async throws -> QueueImage, _ detach: (QueueImage) async throws -> Void
    ) async throws {
        let deadline = clock.now + Self.patience
        while true {
            let isGone = try await holdingAll {
                let image = try await image()
                let going = Set(image.operations.map(\.id))
                if !leavingOperations, !going.isEmpty {
                    throw Problem(
                        .operationsPending,
                        "\(going.count) queued writes wait in this store. ?leave=true leaves them there.")
                }
                let (isBusy, isTied) = book.withLock { book in
                    (going.contains { book.operations[$0]?.state == .sending }, book.isTied(going))
                }
                if isTied {
                    throw Problem(
                        .hasDependents,
                        "Queued writes of this and of other stores wait for each other. Deliver them first.")
                }
                if isBusy { return false }
                try await detach(image)
                for operation in book.withLock({ $0.letGo(image) }) { settle(operation) }
                return true
            }
            if isGone { return }
            guard clock.now < deadline else {
                throw Problem(.operationBusy, "A write of this store is under way. Try again when it is answered.")
            }
            await clock.sleep(until: min(deadline, clock.now + 0.05))
        }
    }

    /// Runs `change` while nothing is queued and nothing can be; refused with `operations-pending` where something is.
    package func whileEmpty(_ change: () async throws -> Void) async throws {
        try await holdingAll {
            guard book.withLock({ $0.operations.isEmpty }) else {
                throw Problem(
                    .operationsPending, "Queued writes wait. Deliver or discard them before the cache is switched off.")
            }
            try await change()
        }
    }

    /// Shows what another process has changed in a store that it has open too: `changes`, read while nobody here accepts, claims
    /// or records. False, and nothing shown, where a write that comes before one under way here has to wait for its end.
    package func takingOver(_ changes: () async throws -> [StoreChange]) async throws -> Bool {
        try await holdingAll {
            let changes = try await changes()
            guard book.withLock({ $0.canTakeOver(changes) }) else { return false }
            show(changes)
            return true
        }
    }

    /// Goes on with what another process was delivering when it ended: what it was sending has an unknown outcome.
    package func inherit(_ operations: [OperationID]) async throws {
        try await holdingAll {
            let left = book.withLock { $0.orphans(of: operations) }
            show(left.map { .putOperation($0) })
        }
    }

    private func holdingAll<Value: Sendable>(_ body: () async throws -> Value) async throws -> Value {
        await locks.lockAll()
        defer { if locks.unlockAll() { workAppeared() } }
        return try await body()
    }
}
