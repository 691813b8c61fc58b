package import CacheCore
import HTTPModel
import Synchronization

/// How a mirrored store is opened.
package struct MirrorPlan: Sendable {
    /// The folder of the primary side; nil in an extension.
    package var primary: String?
    package var mirror: String
    /// The database's file in both.
    package var file: String
    package var role: StoreRole
    /// Whether an extension delivers where no app does.
    package var delivers: Bool
    /// Whether reads fail where one side can't be read.
    package var isStrict: Bool
    package var options: StoreOptions

    package init(
        primary: String?, mirror: String, file: String, role: StoreRole, delivers: Bool = false, isStrict: Bool = false,
        options: StoreOptions = StoreOptions()
    ) {
        self.primary = primary
        self.mirror = mirror
        self.file = file
        self.role = role
        self.delivers = delivers
        self.isStrict = isStrict
        self.options = options
    }
}

/// A store in two places (design 11, "Mirror"): in the role app a primary side, which this process alone has, and a mirror, which
/// other processes open too; in the role extension the mirror alone. Callable from any task.
///
/// What both sides have is stamped with the count of the commit that brought it. A commit goes to the primary side and its
/// outcome from there to the mirror; what others bring into the mirror is taken into the primary side within a second, and a
/// comparison of all that is there follows whenever one side may have missed something.
package final class MirroredStore: Store {
    /// The sides, as far as they can be used.
    struct State: Sendable {
        var primary: SQLiteStore?
        var mirror: SQLiteStore?
        var locks: MirrorLocks?
        /// Up to where changes of the mirror were taken over.
        var arrival: Int64 = 0
        /// Records other than entries that the queue has not been told of.
        var untold: Set<RecordName> = []
        /// The states of operations as the queue knows them.
        var seen: [OperationID: OperationState] = [:]
        var status = MirrorStatus()
        /// When a side that is out, or behind, is tried again, seconds since 1970.
        var retryAt = 0.0
        /// Seconds from a failure to the next attempt.
        var pause = MirroredStore.shortestPause
        var isLooking = false
        var isClosed = false
        var comparison: Comparison?
        var watch: Task<Void, Never>?
    }

    /// Tells the queue: shows the changes and answers whether it could.
    package typealias Teller = @Sendable (@escaping @Sendable () async throws -> [StoreChange]) async throws -> Bool

    package let epoch: Int64
    package let partitionKey: [UInt8]
    let planned: Mutex<MirrorPlan>
    let state: Mutex<State>
    let count = CommitCounter()
    let writer = Int64.random(in: 1...(.max))
    let rule: any Reconciling
    let clock: any Clock
    let log: any Log
    let view: (any HitView)?
    let behind: WriteBehind
    /// In a struct: functions that a Mutex holds by themselves are wrapped once more with each look at them.
    struct Told: Sendable {
        var change: Teller
        var gained: @Sendable ([OperationID]) async throws -> Void
    }
    let told = Mutex<Told?>(nil)

    init(
        _ state: State, epoch: Int64, partitionKey: [UInt8], plan: MirrorPlan, rule: any Reconciling, clock: any Clock,
        log: any Log, view: (any HitView)?
    ) {
        self.state = Mutex(state)
        self.epoch = epoch
        self.partitionKey = partitionKey
        planned = Mutex(plan)
        self.rule = rule
        self.clock = clock
        self.log = log
        self.view = view
        behind = WriteBehind(plan.options.strategy.strategy, view: view, clock: clock, log: log)
        behind.writes { [weak self] (changes, durable, updatesView) throws(StoreError) in
            guard let self else { throw .closed }
            try await write(changes, durable: durable, updatesView: updatesView)
        }
    }

    /// Who is told of what other processes change in the queue, and of the operations that this process is to deliver from now on.
    package func onChange(
        _ change: @escaping Teller, gained: @escaping @Sendable ([OperationID]) async throws -> Void
    ) { told.withLock { $0 = Told(change: change, gained: gained) } }

    var plan: MirrorPlan { planned.withLock { $0 } }

    /// Whether this process works on both locations, as far as they can be used.
    package var hasBothSides: Bool { plan.role == .app }

    package var status: MirrorStatus {
        state.withLock { state in
            var status = state.status
            if plan.role == .app, state.primary == nil { status.out.append(.primary) }
            if state.mirror == nil { status.out.append(.mirror) }
            status.delivers = delivers(state)
            return status
        }
    }

    // MARK: The queue's order

    package func delivers(_ target: Target) -> Bool { state.withLock { delivers($0) } }

    /// An app whose mirror can't be reached is alone with its primary side.
    private func delivers(_ state: borrowing State) -> Bool { state.locks?.delivers ?? (plan.role == .app) }

    package func sequence(after last: Int64, for target: Target) -> Int64 {
        let seat = state.withLock { $0.locks?.seat ?? 0 }
        let next = last + 1
        return next + (seat - next % MirrorLocks.seats + MirrorLocks.seats) % MirrorLocks.seats
    }

    // MARK: Commits

    package func commit(_ changes: [StoreChange], durable: Bool) async throws(StoreError) {
        try await behind.commit(changes, durable: durable)
    }

    private func write(_ changes: [StoreChange], durable: Bool, updatesView: Bool) async throws(StoreError) {
        let (primary, mirror, seen) = state.withLock { ($0.primary, $0.mirror, $0.seen) }
        if plan.role == .extension {
            guard let mirror else { throw .side(.mirror, .failed(reason: "it can't be reached")) }
            do throws(StoreError) {
                _ = try await mirror.track(
                    changes, durable: durable, updatesView: updatesView, count: count, by: writer, seen: seen)
            } catch .outdated {
                throw .outdated
            } catch {
                note(error, of: .mirror)
                throw error.at(.mirror)
            }
            return noteSeen(changes)
        }
        guard let primary else { throw .side(.primary, .failed(reason: "it can't be reached")) }
        let records: [MirrorRecord]
        do throws(StoreError) {
            if let mirror { try await bringBodies(of: changes, to: primary, from: mirror) }
            records = try await primary.track(
                changes, durable: durable, updatesView: updatesView, count: count, by: writer)
        } catch {
            if error == .closed, state.withLock({ $0.primary !== primary && $0.primary != nil }) {
                // Another folder has become the primary location.
                return try await write(changes, durable: durable, updatesView: updatesView)
            }
            note(error, of: .primary)
            throw error.at(.primary)
        }
        do throws(StoreError) {
            guard let mirror else { throw .failed(reason: "it can't be reached") }
            try await pass(records, on: mirror, from: primary, durable: durable)
        } catch .outdated {
            state.withLock { $0.untold.formUnion(records.map(\.name)) }
            throw .outdated
        } catch {
            note(error, of: .mirror)
            noteSeen(changes)
            throw .mirrorFailed(error)
        }
        noteSeen(changes)
    }

    /// A body that was put into the mirror alone is needed where the change goes first.
    private func bringBodies(
        of changes: [StoreChange], to primary: SQLiteStore, from mirror: SQLiteStore
    ) async throws(StoreError) {
        for content in changes.flatMap(\.contents)
        where content.inline == nil && !primary.holds(content) && mirror.holds(content) {
            _ = try await primary.bring(content, from: mirror)
        }
    }

    private func pass(
        _ records: [MirrorRecord], on mirror: SQLiteStore, from primary: SQLiteStore, durable: Bool
    ) async throws(StoreError) {
        guard mirror.isInPlace else { throw .failed(reason: "it is no longer in its place") }
        let (contents, whole) = try await mirror.bring(records, from: primary)
        guard whole.count == records.count else { throw .corrupt(reason: "a body can't be copied") }
        _ = try await mirror.take(
            records, winsTies: true, by: writer, rule: rule, durable: durable, isOutcome: true)
        withExtendedLifetime(contents) {}
    }

    /// The queue knows what it has committed.
    func noteSeen(_ changes: [StoreChange]) {
        state.withLock { state in
            for case .putOperation(let operation) in changes {
                state.seen[operation.id] = operation.state.isFinal ? nil : operation.state
            }
        }
    }

    // MARK: Failures

    static let shortestPause = 1.0
    private static let longestPause = 8.0

    /// Counts and logs a failure: of the side that the error names, else of `side`. One that is not merely full is left out until
    /// it can be opened again.
    func note(_ error: StoreError, of side: StoreSide) {
        if case .side(let named, let error) = error { return note(error, of: named) }
        // What asks too much of a store that is in order is no failure of it, nor is its end.
        if error == .tooLarge || error == .outdated || error == .closed || error == .full && side == .primary { return }
        let role = plan.role
        let (wasIn, lost): (Bool, SQLiteStore?) = state.withLock { state in
            state.status.failures += 1
            state.status.isBehind = role == .app
            // Who can't reach a side that is out anyway delays no attempt to get it back.
            guard state.sides.contains(where: { $0.side == side }) else { return (false, nil) }
            if clock.now >= state.retryAt {
                state.retryAt = clock.now + state.pause
                state.pause = min(state.pause * 2, Self.longestPause)
            }
            guard error != .full, !isOfOneBody(error) else { return (true, nil) }
            defer { if side == .mirror { state.locks = nil } }
            return (true, side == .mirror ? state.mirror.take() : state.primary.take())
        }
        if wasIn {
            log.write(
                .error, "a side of a mirrored store failed", [("side", side.rawValue), ("reason", "\(error)")])
        }
        if let lost { Task { await lost.close() } }
    }

    /// Damage of one body is no damage of the side.
    private func isOfOneBody(_ error: StoreError) -> Bool {
        if case .corrupt(let reason) = error { reason.hasPrefix("a body") } else { false }
    }

    // MARK: End

    package func save() async throws(StoreError) {
        await behind.flush()
        for store in sides { try await store.save() }
    }

    /// What is in both places is kept for whoever comes: nothing waits for its being saved.
    package func save(for reason: SaveReason) async throws(StoreError) -> Bool {
        try await save()
        return true
    }

    package func close() async {
        await behind.flush()
        let (watch, comparison) = state.withLock { state in
            state.isClosed = true
            return (state.watch.take(), state.comparison.take())
        }
        watch?.cancel()
        comparison?.cancel()
        _ = await watch?.value
        _ = await comparison?.value
        let sides = state.withLock { state in
            defer { state.locks = nil }
            return [state.primary.take(), state.mirror.take()].compactMap { $0 }
        }
        for store in sides { await store.close() }
    }

    /// Those that can be used, the primary one first.
    var sides: [SQLiteStore] { state.withLock { [$0.primary, $0.mirror].compactMap { $0 } } }
}
