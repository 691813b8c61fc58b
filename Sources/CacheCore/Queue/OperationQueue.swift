import HTTPModel
import Synchronization

/// The queue of writes: the book in memory, kept equal to what the store has on disk.
///
/// Every change goes the same way: decide under the lane's lock, commit durably, apply to the book, then tell listeners. Nothing
/// shows before it is on disk. Commits of different lanes run side by side, so that the store can group them. What reaches across
/// lanes (a create that becomes real, discard, adopt) holds the lock of the whole queue.
package final class OperationQueue: WriteQueue, DeliveryQueue {
    let store: any Store
    let clock: any Clock
    let events: any EventSink
    let settings: SettingsBox
    let book = Mutex(LaneBook())
    let locks = KeyedLock<EntryKey>()
    /// Held around an acceptance with an Idempotency-Key, always before the lane's lock.
    let keyLocks = KeyedLock<LaneBook.Name>()
    /// Of writes that go to the origin at once. A lane is not claimed while one of them is under way.
    let turns = NamedTurns<EntryKey>()
    let waiters = Mutex(OutcomeWaiters())
    let deliveredTags = Mutex(DeliveredTags())
    private let wake = Listener<Void>()

    package init(store: any Store, clock: any Clock, events: any EventSink, settings: SettingsBox) {
        self.store = store
        self.clock = clock
        self.events = events
        self.settings = settings
    }

    /// Takes over what the store has, once, before the first use. High pins follow in the background: they only order.
    package func load() async throws {
        let image = try await storeCall { () async throws(StoreError) in try await store.loadQueue() }
        let lanes = book.withLock { book in
            book = LaneBook(image)
            book.dropFarWaits(now: clock.now)
            return Array(book.lanes.keys)
        }
        for before in image.operations where before.state == .sending {
            if let operation = operation(before.id) { events.emit(.operation(operation, from: .sending)) }
        }
        Task {
            for lane in lanes where (try? await store.entry(lane))??.pin == .high { pinChanged(lane, to: .high) }
        }
        workAppeared()
    }

    /// The pin of a target was set or removed.
    package func pinChanged(_ key: EntryKey, to priority: PinPriority?) {
        book.withLock { $0.setHighPin(priority == .high, of: key) }
        workAppeared()
    }

    package func localEdit(of key: EntryKey) -> LocalEdit? { book.withLock { $0.localEdit(of: key) } }
    package func lane(of key: EntryKey) -> LaneStatus { book.withLock { $0.status(of: key) } }
    package func conflict(of key: EntryKey) -> Conflict? { book.withLock { $0.conflict(of: key) } }
    package var counts: QueueCounts { book.withLock { $0.counts } }
    package func unfinished() -> [Operation] {
        book.withLock { $0.operations.values.sorted { $0.precedes($1) } }
    }
    package func nextEdit(after operation: Operation) -> Operation? {
        book.withLock { $0.nextEdit(after: operation) }
    }
    package func isBehindStopped(_ operation: Operation) -> Bool { book.withLock { $0.isBehindStopped(operation) } }
    package var partitionsWithoutCredential: Set<PartitionID> { book.withLock { Set($0.credentialWaits.keys) } }
    /// Whose operations are not finished.
    package var partitions: Set<PartitionID> { book.withLock { Set($0.lanes.keys.map(\.partition)) } }
    package var collectionsOfCreates: Set<EntryKey> { book.withLock { Set($0.creates.keys) } }
    package func operation(_ id: OperationID) -> Operation? { book.withLock { $0.operations[id] } }

    package func resolve(_ target: Target, of partition: PartitionID) -> ResolvedTarget {
        book.withLock { $0.resolve(target, of: partition) }
    }

    /// Whether there is any temporary target, or was one, that a write could name.
    var mayBeNamed: Bool { book.withLock { !$0.temporaries.isEmpty || !$0.aliases.isEmpty } }

    package func pendingCreates(in key: EntryKey) -> [Operation] {
        book.withLock { book in (book.creates[key] ?? []).compactMap { book.operations[$0] } }
    }

    package func editedEntries(of partitions: [PartitionID]?) -> Set<EntryKey> {
        book.withLock { $0.editedEntries(of: partitions) }
    }

    package func hasEdits(of partition: PartitionID) -> Bool { book.withLock { $0.hasEdits(of: partition) } }

    package func hasEdits(ofMembersAt path: Substring, of partition: PartitionID) -> Bool {
        book.withLock { $0.hasEdits(ofMembersAt: path, of: partition) }
    }

    // MARK: Work for delivery

    package func onWork(_ wake: @escaping @Sendable () -> Void) { self.wake.set(wake) }

    package func dueAtOnce(byHand: Bool) {
        book.withLock { $0.dueAtOnce(byHand: byHand, settled: settled) }
        workAppeared()
    }

    /// When a write that may be on its way now has taken effect or never will.
    var settled: Double { clock.now + settings.current.settle }

    package func credentialArrived(for partition: PartitionID) {
        book.withLock { $0.credentialArrived(for: partition) }
        workAppeared()
    }

    package func nextDue(now: Double) -> Double? {
        book.withLock { book in
            book.nextDue(now: now) { !turns.isTaken($0) && !locks.isHeld($0) && store.delivers($0.target) }
        }
    }

    func workAppeared() { wake.tell(()) }

    // MARK: Turns, locks and commits

    package func takeTurn(at key: EntryKey, deadline: Double) async -> Bool {
        await turns.take(key, until: deadline, of: clock)
    }

    package func passTurn(at key: EntryKey) {
        turns.pass(key)
        if lane(of: key) != .empty { workAppeared() }
    }

    /// Runs `body` while nobody else changes the lane, or any lane where `whole`.
    func holding<Value: Sendable>(
        _ lane: EntryKey, whole: Bool, _ body: () async throws -> Value
    ) async throws -> Value {
        if whole { await locks.lockAll() } else { await locks.lock(lane) }
        defer {
            let wasMissed = whole ? locks.unlockAll() : locks.unlock(lane)
            if wasMissed { workAppeared() }
        }
        return try await body()
    }

    /// Commits durably, then shows and tells. The caller holds the lock of the lanes concerned.
    func commit(_ changes: [StoreChange]) async throws {
        do throws(StoreError) {
            try await store.commit(changes, durable: true)
        } catch {
            if error.isAccepted { show(changes) }
            throw Problem.from(error)
        }
        show(changes)
    }

    /// Applies what is on disk.
    func show(_ changes: [StoreChange]) {
        let applied = book.withLock { $0.apply(changes) }
        for event in applied.events { events.emit(event) }
        for operation in applied.settled { settle(operation) }
        workAppeared()
    }

    /// Turns what the store throws into problems.
    func storeCall<Value: Sendable>(_ body: () async throws(StoreError) -> Value) async throws -> Value {
        do { return try await body() } catch { throw Problem.from(error) }
    }

    func superseded(_ operation: Operation, by id: OperationID) -> StoreChange {
        finished(operation, as: .superseded, reason: operation.reason, supersededBy: id)
    }

    func finished(
        _ operation: Operation, as state: OperationState, reason: String?, supersededBy: OperationID? = nil
    ) -> StoreChange {
        var finished = operation
        finished.finish(as: state, reason: reason, at: clock.now)
        finished.supersededBy = supersededBy
        return .putOperation(finished)
    }
}

extension Operation {
    /// Takes the wait for a time away, but for what may still take effect: that is looked at when it has `settled` (seconds since
    /// 1970). False: there is nothing to take away.
    mutating func hurry(settled: Double) -> Bool {
        guard let time = nextAttemptAt, state == .pending || state == .unknown else { return false }
        if state == .unknown, reason == Reason.retryAfter || reason == Reason.settle {
            if reason == Reason.settle, time <= settled { return false }
            nextAttemptAt = min(time, settled)
            reason = Reason.settle
        } else {
            nextAttemptAt = nil
            if reason == Reason.retryAfter { reason = nil }
        }
        return true
    }

    /// Makes it its own receipt, which stays for `receiptRetention`. The bytes are at the origin, in a conflict or not wanted any more,
    /// and need no room here.
    mutating func finish(as state: OperationState, reason: String?, at time: Double) {
        self.state = state
        self.reason = reason
        nextAttemptAt = nil
        finishedAt = time
        body = nil
        effective = nil
        base.content = nil
        membersBefore = nil
    }
}
