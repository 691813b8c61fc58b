package import CacheCore
import Synchronization

/// Delivers the queue (design 5): claims what is due, at most `replayConcurrency` at once, makes an attempt of each, and records
/// what came of it. Runs while it is online, not suspended and started; woken by the queue, by coming online and by its own
/// timer. Callable from any task.
package final class Deliverer: Delivery {
    let context: DeliveryContext
    private let memory: DeliveryMemory
    let guarded = Mutex(DeliveryState())

    /// Seconds till the next try when the store fails, and between looks at configured credentials.
    static let pause = 1.0

    package init(_ context: DeliveryContext) {
        self.context = context
        memory = DeliveryMemory(startedAt: context.clock.now)
    }

    /// Begins; what the queue holds from before goes first.
    package func start() {
        context.queue.onWork { [weak self] in self?.wake() }
        guarded.withLock { $0.isStarted = true }
        wake()
    }

    /// Something may be due.
    package func wake() {
        let isOnline = context.network.state.isOnline
        let begins = guarded.withLock { state in
            guard state.isStarted, !state.isStopped else { return false }
            if state.isPumping {
                state.isWanted = true
                return false
            }
            // Each accepted write comes by here: where nothing can be sent there is no task to begin. Who changes that wakes it.
            let maySend = isOnline && !state.isSuspended
            guard maySend || !state.waiting.isEmpty || !state.waiters.isEmpty else { return false }
            state.isWanted = true
            state.isPumping = true
            return true
        }
        if begins { Task { await pump() } }
    }

    /// For the network's `onOnline`: every lane is due at once but for Retry-After and `credential`.
    package func cameOnline() {
        context.queue.dueAtOnce(byHand: false)
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
        giveBack()
        await wait(deadline: deadline) { $0.isIdle && !$0.isPumping }
    }

    // MARK: Delivery

    package var isSuspended: Bool { guarded.withLock { $0.isSuspended } }

    package func suspend(_ suspended: Bool) {
        guarded.withLock { $0.isSuspended = suspended }
        wake()
    }

    package func resolve(_ conflict: Conflict, by resolution: Resolution) async throws -> ResolutionOutcome {
        let outcome = try await decide(conflict, by: resolution)
        guard case .queued(let operation) = outcome, operation.state == .pending, context.network.state.isOnline else {
            return outcome
        }
        // It is delivered now, before the edits behind it.
        let deadline = context.clock.now + context.settings.current.laneWait
        let settled = await context.queue.outcome(of: operation.id, deadline: deadline) ?? operation
        switch settled.state {
        case .delivered: return .resolved
        case .conflict: return context.queue.conflict(of: conflict.key).map { .conflictAgain($0) } ?? .queued(settled)
        default: return .queued(settled)
        }
    }

    private func decide(_ conflict: Conflict, by resolution: Resolution) async throws -> ResolutionOutcome {
        let deadline = context.clock.now + context.settings.current.laneWait
        guard await context.queue.takeTurn(at: conflict.key, deadline: deadline) else {
            throw Problem(.operationBusy, "Another write of the target is under way. Try again in a moment.")
        }
        defer { context.queue.passTurn(at: conflict.key) }
        // Another decision may have been made while this one waited for its turn.
        guard try await context.store.conflict(conflict.id)?.revision == conflict.revision else {
            throw Problem(.precondition, "The conflict has changed. Read it again, then decide.")
        }
        return try await Resolver(conflict, context: context).resolve(by: resolution)
    }

    package func syncNow(deadline: Double) async -> [OperationID] {
        let ids = context.queue.unfinished().map(\.id)
        guard !ids.isEmpty else { return [] }
        context.queue.dueAtOnce(byHand: true)
        wake()
        let settled = Mutex(0)
        await wait(deadline: deadline) { [context] state in
            if state.isSuspended || state.isStopped || !context.network.state.isOnline { return state.isIdle }
            // Looked at often and in order: those that are settled are not looked at again.
            return settled.withLock { settled in
                while settled < ids.count, context.queue.isSettled(ids[settled]) { settled += 1 }
                return settled == ids.count
            }
        }
        return ids
    }

    // MARK: Claiming

    private func pump() async {
        while true {
            let goesOn = guarded.withLock { state in
                guard state.isWanted, !state.isStopped else {
                    state.isPumping = false
                    return false
                }
                state.isWanted = false
                return true
            }
            guard goesOn else { break }
            if maySend {
                claim()
                send()
            } else {
                giveBack()
            }
        }
        wakeWaiters()
    }

    private var maySend: Bool {
        guarded.withLock { !$0.isSuspended && !$0.isStopped } && context.network.state.isOnline
    }

    private func claim() {
        let now = context.clock.now
        let concurrency = context.settings.current.replayConcurrency
        let limit = guarded.withLock { state in
            if state.isClaiming { state.mayHaveMissed = true }
            guard !state.isClaiming, state.recording < DeliveryState.batchLimit else { return 0 }
            state.batch = state.nextBatch(concurrency: concurrency, now: now)
            guard state.runsLow, state.batch > state.waiting.count else { return 0 }
            state.isClaiming = true
            state.mayHaveMissed = false
            return state.batch - state.waiting.count
        }
        guard limit > 0 else { return }
        Task {
            let found = await claim(limit, now: now)
            let goesOn = guarded.withLock { state in
                state.isClaiming = false
                return found || state.mayHaveMissed
            }
            // Where nothing may be sent any more, at the end of the service too, nothing may stay `sending`.
            if !maySend { giveBack() }
            if goesOn { wake() }
            wakeWaiters()
        }
    }

    /// Whether there was anything.
    private func claim(_ limit: Int, now: Double) async -> Bool {
        let claims: [Claim]
        do {
            claims = try await context.queue.claim(limit: limit, now: now) { [memory] in memory.membersBefore(of: $0) }
        } catch {
            context.log.write(.error, "operations can't be claimed", [("error", "\(error)")])
            arm(at: now + Self.pause)
            return false
        }
        guarded.withLock { state in
            state.waiting.append(contentsOf: claims)
            state.claimedAt = now
            state.ended = 0
        }
        if claims.isEmpty { rest(now: now) }
        return !claims.isEmpty
    }

    /// Sends what is claimed, as many at once as may be.
    private func send() {
        let concurrency = context.settings.current.replayConcurrency
        let count = guarded.withLock { state in
            let count = min(state.waiting.count, max(0, concurrency - state.sending))
            state.sending += count
            return count
        }
        for _ in 0..<count { Task { await self.deliver() } }
    }

    /// What is claimed and not on its way is as if never claimed.
    private func giveBack() {
        let begins = guarded.withLock { state in
            defer { state.waiting = [] }
            return state.takeOutcomes(state.waiting.map { ($0.operation.id, .notSent) })
        }
        if begins { Task { await recordAll() } }
    }

    /// Nothing is due: sets the timer, forgets what no drain needs any more.
    private func rest(now: Double) {
        if let due = context.queue.nextDue(now: now) { arm(at: due) }
        let waiting = context.queue.partitionsWithoutCredential
        if context.sources.isConfigured, !waiting.isEmpty {
            Task { await self.lookForCredentials(of: waiting) }
            arm(at: now + Self.pause)
        } else if waiting.contains(.none) {
            // They waited for one that was configured then.
            context.queue.credentialArrived(for: .none)
        }
        guard guarded.withLock({ $0.isIdle }) else { return }
        memory.keepCollections(only: context.queue.collectionsOfCreates)
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

    /// Sends what is claimed, one after the other, for as long as there is something. The next one need not wait until the outcome of
    /// the one before is on disk: it is of another lane.
    private func deliver() async {
        while let claim = next() {
            let id = claim.operation.id
            let outcome = await Attempt(claim, context: context, memory: memory).run()
            memory.note(outcome, of: id)
            let (begins, runsLow) = guarded.withLock { state in
                state.ended += 1
                return (state.takeOutcomes([(id, outcome)]), state.runsLow && !state.isClaiming)
            }
            if begins { Task { await recordAll() } }
            if runsLow { wake() }
        }
        wake()
    }

    /// The next one to be sent by a task that counts as `sending`; nil ends it.
    private func next() -> Claim? {
        let isOnline = context.network.state.isOnline
        let concurrency = context.settings.current.replayConcurrency
        return guarded.withLock { state in
            let maySend = isOnline && !state.isSuspended && !state.isStopped
            guard maySend, !state.waiting.isEmpty, state.sending <= concurrency else {
                state.sending -= 1
                return nil
            }
            return state.waiting.removeFirst()
        }
    }

    // MARK: Waiting

    /// Returns when the condition holds or at `deadline`; the condition is looked at when something has ended.
    private func wait(deadline: Double, until condition: @escaping @Sendable (borrowing DeliveryState) -> Bool) async {
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

    func wakeWaiters() {
        let waiting = guarded.withLock { state in
            let all = Array(state.waiters.values)
            state.waiters = [:]
            return all
        }
        for waiter in waiting { waiter.resume() }
    }
}

extension DeliveryQueue {
    /// Whether nothing more can be delivered of it now.
    fileprivate func isSettled(_ id: OperationID) -> Bool {
        guard let operation = operation(id) else { return true }
        return operation.state.isFinal || operation.state.isStopped || operation.reason == Reason.credential
            || isBehindStopped(operation)
    }
}
