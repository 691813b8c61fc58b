import Synchronization

/// Who waits for what becomes of an operation.
struct OutcomeWaiters: Sendable {
    var lastID = 0
    var byOperation: [OperationID: [Int: CheckedContinuation<Void, Never>]] = [:]
}

extension OperationQueue {
    package func outcome(of id: OperationID, deadline: Double) async -> Operation? {
        var id = id
        while true {
            guard let current = operation(id) else {
                guard let kept = try? await store.operation(id) else { return nil }
                guard kept.state == .superseded, let next = kept.supersededBy else { return kept }
                id = next
                continue
            }
            if current.state.isStopped || clock.now >= deadline { return current }
            await change(of: id, deadline: deadline)
            if clock.now >= deadline || Task.isCancelled {
                if let current = operation(id) { return current }
            }
        }
    }

    /// Suspends until the operation settles or the deadline passes.
    private func change(of id: OperationID, deadline: Double) async {
        let number = waiters.withLock { waiters in
            waiters.lastID += 1
            return waiters.lastID
        }
        let timer = Task {
            await clock.sleep(until: deadline)
            release(number, of: id)
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { waiter in
                waiters.withLock { $0.byOperation[id, default: [:]][number] = waiter }
                // It may have settled, or the deadline passed, before the waiter stood here.
                let isOver = operation(id)?.state.isStopped ?? true
                if isOver || Task.isCancelled || clock.now >= deadline { release(number, of: id) }
            }
        } onCancel: {
            release(number, of: id)
        }
        timer.cancel()
    }

    private func release(_ number: Int, of id: OperationID) {
        let waiter = waiters.withLock { waiters in
            let waiter = waiters.byOperation[id]?.removeValue(forKey: number)
            if waiters.byOperation[id]?.isEmpty == true { waiters.byOperation[id] = nil }
            return waiter
        }
        waiter?.resume()
    }

    /// Wakes who waits for the operation.
    func settle(_ operation: Operation) {
        let all = waiters.withLock { $0.byOperation.removeValue(forKey: operation.id) }
        for waiter in (all ?? [:]).values { waiter.resume() }
    }
}
