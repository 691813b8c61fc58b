package import CacheCore
import Synchronization

/// Delivers the queue (design 5): claims what is due, at most `replayConcurrency` at once, makes an attempt of each, and records
/// what came of it. Runs while it is online, not suspended and started; woken by the queue, by coming online and by its own
/// timer. Callable from any task.
package final class Deliverer: Delivery {
    private struct Guarded: Sendable {
        var isStarted = false
        var isSuspended = false
        var isStopped = false
        /// Whether a task is claiming; `isWanted`: whether it is to look once more before it ends.
        var isPumping = false
        var isWanted = false
        var running = 0
        var timer: (due: Double, task: Task<Void, Never>)?
        var waiters: [UInt64: CheckedContinuation<Void, Never>] = [:]
        var nextWaiter: UInt64 = 0
    }

    let context: DeliveryContext
    private let memory = DeliveryMemory()
    private let guarded = Mutex(Guarded())

    /// Seconds till the next try when the store fails, and between looks at configured credentials.
    private static let pause = 1.0

    package init(_ context: DeliveryContext) {
        self.context = context
    }

    /// Begins; what the queue holds from before goes first.
    package func start() {
        context.queue.onWork { [weak self] in self?.wake() }
        guarded.withLock { $0.isStarted = true }
        wake()
    }

    /// Something may be due.
    package func wake() {
        let begins = guarded.withLock { state in
            guard state.isStarted, !state.isStopped else { return false }
            state.isWanted = true
            guard !state.isPumping else { return false }
            state.isPumping = true
            return true
        }
        if begins { Task { await pump() } }
    }

    /// For the network's `onOnline`: every lane is due at once but for Retry-After and `credential`.
    package func cameOnline() {
        context.queue.dueAtOnce()
        wake()
    }

    /// Takes no new claims and waits until those under way are recorded, at most until `deadline` (seconds since 1970). What is still
    /// `sending` then is looked at after the next start.
    package func stop(deadline: Double) async {
        let timer = guarded.withLock { state in
            state.isStopped = true
            let timer = state.timer?.task
            state.timer = nil
            return timer
        }
        timer?.cancel()
        await wait(deadline: deadline) { $0.running == 0 && !$0.isPumping }
    }

    // MARK: Delivery

    package var isSuspended: Bool { guarded.withLock { $0.isSuspended } }

    package func suspend(_ suspended: Bool) {
        guarded.withLock { $0.isSuspended = suspended }
        wake()
    }

    package func resolve(_ conflict: Conflict, by resolution: Resolution) async throws -> ResolutionOutcome {
        let deadline = context.clock.now + context.settings.current.laneWait
        guard await context.queue.takeTurn(at: conflict.key, deadline: deadline) else {
            throw Problem(.operationBusy, "Another write of the target is under way. Try again in a moment.")
        }
        defer { context.queue.passTurn(at: conflict.key) }
        return try await Resolver(conflict, context: context).resolve(by: resolution)
    }

    package func syncNow(deadline: Double) async -> [OperationID] {
        let ids = context.queue.unfinished().map(\.id)
        guard !ids.isEmpty else { return [] }
        context.queue.dueAtOnce()
        wake()
        await wait(deadline: deadline) { [context] state in
            if state.isSuspended || state.isStopped || !context.network.state.isOnline { return state.running == 0 }
            return ids.allSatisfy { id in
                guard let operation = context.queue.operation(id) else { return true }
                return operation.state.isFinal || operation.state.isStopped || operation.reason == "credential"
                    || context.queue.isBehindStopped(operation)
            }
        }
        return ids
    }

    // MARK: Claiming

    private func pump() async {
        while true {
            let free = guarded.withLock { state in
                guard state.isWanted, !state.isSuspended, !state.isStopped else {
                    state.isPumping = false
                    return 0
                }
                state.isWanted = false
                return max(0, context.settings.current.replayConcurrency - state.running)
            }
            let goesOn = guarded.withLock { $0.isPumping }
            guard goesOn else { break }
            if free > 0, context.network.state.isOnline { await claim(free) }
        }
        wakeWaiters()
    }

    private func claim(_ free: Int) async {
        let now = context.clock.now
        let claims: [Claim]
        do {
            claims = try await context.queue.claim(limit: free, now: now) { [memory] in memory.membersBefore(of: $0) }
        } catch {
            context.log.write(.error, "operations can't be claimed", [("error", "\(error)")])
            arm(at: now + Self.pause)
            return
        }
        guarded.withLock { $0.running += claims.count }
        for claim in claims {
            Task {
                await self.deliver(claim)
                self.guarded.withLock { $0.running -= 1 }
                self.wake()
                self.wakeWaiters()
            }
        }
        if claims.isEmpty { rest(now: now) }
    }

    /// Nothing is due: sets the timer, forgets what no drain needs any more.
    private func rest(now: Double) {
        if let due = context.queue.nextDue(now: now) { arm(at: due) }
        let unfinished = context.queue.unfinished()
        if context.sources.isConfigured {
            let waiting = Set(unfinished.filter { $0.reason == "credential" }.map(\.partition))
            if !waiting.isEmpty {
                Task { await self.lookForCredentials(of: waiting) }
                arm(at: now + Self.pause)
            }
        }
        guard guarded.withLock({ $0.running == 0 }) else { return }
        memory.keepCollections(
            only: Set(
                unfinished.filter { $0.kind == .create }
                    .map { EntryKey(partition: $0.partition, target: $0.target) }))
    }

    private func lookForCredentials(of partitions: Set<PartitionID>) async {
        for partition in partitions where await context.sources.fields(for: partition) != nil {
            context.queue.credentialArrived(for: partition)
        }
    }

    /// Wakes at `due` (seconds since 1970), or earlier where an earlier time is set.
    private func arm(at due: Double) {
        let clock = context.clock
        guarded.withLock { state in
            guard !state.isStopped else { return }
            if let timer = state.timer {
                if timer.due <= due { return }
                timer.task.cancel()
            }
            let task = Task { [weak self] in
                await clock.sleep(until: due)
                guard !Task.isCancelled else { return }
                self?.timerFired(due)
            }
            state.timer = (due, task)
        }
    }

    private func timerFired(_ due: Double) {
        guarded.withLock { state in
            if state.timer?.due == due { state.timer = nil }
        }
        wake()
    }

    // MARK: One operation

    private func deliver(_ claim: Claim) async {
        let id = claim.operation.id
        let outcome = await Attempt(claim, context: context, memory: memory).run()
        memory.note(outcome, of: id)
        while true {
            do {
                try await context.queue.record(outcome, of: id)
                return
            } catch {
                // It stays `sending` on disk and is looked at after a restart; here it is told again till it is kept.
                context.log.write(
                    .error, "an outcome can't be recorded", [("operation", id.text), ("error", "\(error)")])
                guard !guarded.withLock({ $0.isStopped }) else { return }
                await context.clock.sleep(until: context.clock.now + Self.pause)
            }
        }
    }

    // MARK: Waiting

    /// Returns when the condition holds or at `deadline`; the condition is looked at when something has ended.
    private func wait(deadline: Double, until condition: @escaping @Sendable (borrowing Guarded) -> Bool) async {
        let clock = context.clock
        while clock.now < deadline {
            if guarded.withLock({ condition($0) }) { return }
            let number = guarded.withLock { state in
                state.nextWaiter += 1
                return state.nextWaiter
            }
            let timer = Task { [weak self] in
                await clock.sleep(until: deadline)
                self?.release(number)
            }
            await withCheckedContinuation { continuation in
                let isDone = guarded.withLock { state in
                    if condition(state) || clock.now >= deadline { return true }
                    state.waiters[number] = continuation
                    return false
                }
                if isDone { continuation.resume() }
            }
            timer.cancel()
        }
    }

    private func release(_ number: UInt64) {
        guarded.withLock { $0.waiters.removeValue(forKey: number) }?.resume()
    }

    private func wakeWaiters() {
        let waiting = guarded.withLock { state in
            let all = Array(state.waiters.values)
            state.waiters = [:]
            return all
        }
        for waiter in waiting { waiter.resume() }
    }
}

extension DeliveryQueue {
    /// Whether an earlier operation of its lane, or one it depends on, has stopped: it won't be delivered before that is settled.
    package func isBehindStopped(_ operation: Operation) -> Bool {
        unfinished().contains { other in
            guard other.id != operation.id, other.state.isStopped || other.reason == "credential" else { return false }
            return (other.lane == operation.lane && other.sequence < operation.sequence)
                || operation.dependsOn.contains(other.id)
        }
    }
}
