package import CacheCore
import HTTPModel
import Synchronization

/// Runs actions in the background (design 9): as many together as `ActionBook` lets, and again after a restart those that had not
/// ended. Callable from any task.
package final class ActionRunner: ActionKeeping {
    private struct Guarded: Sendable {
        var book = ActionBook()
        var tasks: [String: Task<Void, Never>] = [:]
        /// When the progress of one that runs was last put on disk and told.
        var notedAt: [String: Double] = [:]
        var isSuspended = false
        /// From `start` to `stop`.
        var isRunning = false
    }

    private let store: any ActionStore
    private let network: any Network
    private let clock: any Clock
    private let events: any EventSink
    private let log: any Log
    private let works: [ActionType: any ActionWork]
    private let keys: RefreshKeys
    private let guarded = Mutex(Guarded())
    /// One writes a record at a time, so that no older state comes over a newer one.
    private let turns = KeyedLock<String>()

    /// Seconds between two notes of progress on disk: what is done anew after a crash.
    private static let notePause = 1.0
    /// Seconds between looks at configured credentials.
    private static let lookPause = 2.0

    /// `works`: one for each type.
    package init(
        store: any ActionStore, network: any Network, credentials: CredentialKeeper, sources: CredentialSources,
        clock: any Clock, events: any EventSink, log: any Log, works: [ActionType: any ActionWork]
    ) {
        keys = RefreshKeys(credentials: credentials, sources: sources)
        self.store = store
        self.network = network
        self.clock = clock
        self.events = events
        self.log = log
        self.works = works
    }

    /// Takes up what an earlier start has left, once.
    package func start() async {
        do throws(StoreError) {
            let left = try await store.unfinishedActions()
            let now = clock.now
            guarded.withLock { state in
                for action in left { state.book.restore(action, at: now) }
                state.isRunning = true
            }
        } catch {
            log.write(.error, "the actions of an earlier start can't be read", [("reason", "\(error)")])
            guarded.withLock { $0.isRunning = true }
        }
        for action in guarded.withLock({ $0.book.finished }) { await settle(action) }
        wake()
    }

    /// The service came online, or something else has changed for those that wait.
    package func wake() {
        let now = clock.now
        let isOnline = network.state.isOnline
        let changed = guarded.withLock { state in
            guard state.isRunning, !state.isSuspended else { return [Action]() }
            let changed = state.book.advance(at: now) { isOnline || !$0.needsOrigin }
            for action in changed where action.state == .executing {
                state.tasks[action.id] = Task { await self.run(action) }
            }
            return changed
        }
        for action in changed { events.emit(.action(action)) }
    }

    /// Ends: those that run wait for the next start, on disk.
    package func stop() async {
        let now = clock.now
        let (tasks, stopped) = guarded.withLock { state in
            state.isRunning = false
            let stopped = state.book.executing.compactMap { state.book.end($0.id, .stopped, at: now) }
            defer { state.tasks = [:] }
            return (Array(state.tasks.values), stopped)
        }
        for task in tasks { task.cancel() }
        for action in stopped { _ = await record(action.id) }
    }

    // MARK: One action

    private func run(_ action: Action) async {
        _ = await record(action.id)
        let outcome = await outcome(of: action)
        let now = clock.now
        let ended = guarded.withLock { state in
            state.notedAt[action.id] = nil
            guard let ended = state.book.end(action.id, outcome, at: now) else { return nil as Action? }
            state.tasks[action.id] = nil
            return ended
        }
        guard let ended else { return }
        events.emit(.action(ended))
        wake()
        if ended.state == .finished { await settle(ended) } else { _ = await record(ended.id) }
        if ended.reason != nil { await lookForCredential(of: ended) }
    }

    /// Until one is there: who waits is told of those that clients bring, and not of those of configured sources.
    private func lookForCredential(of action: Action) async {
        while guarded.withLock({ $0.isRunning && $0.book[action.id]?.reason != nil }) {
            if await keys.fields(for: action.partition) != nil { return credentialArrived(for: action.partition) }
            await clock.sleep(until: clock.now + Self.lookPause)
        }
    }

    /// A credential of the partition is known now: what waits for one may go on. Callable from any thread.
    package func credentialArrived(for partition: PartitionID) {
        let changed = guarded.withLock { $0.book.credentialArrived(for: partition) }
        guard !changed.isEmpty else { return }
        for action in changed { events.emit(.action(action)) }
        wake()
    }

    private func outcome(of action: Action) async -> ActionOutcome {
        if action.request.needsOrigin, await keys.fields(for: action.partition) == nil { return .withoutCredential }
        guard let work = works[action.request.type] else {
            return .failed(ActionProblem(.internalError, "Nothing here does this."))
        }
        do {
            let isDone = try await work.run(ActionTurn(action) { [weak self] in await self?.note(action.id, $0) })
            return isDone ? .done : .stopped
        } catch let problem as Problem {
            return .failed(ActionProblem(problem.code, problem.detail))
        } catch let error as StoreError {
            let problem = Problem.from(error)
            return .failed(ActionProblem(problem.code, problem.detail))
        } catch {
            log.write(.error, "an action failed", [("id", action.id), ("reason", "\(error)")])
            return .failed(ActionProblem(.internalError, "It failed. The log of the service tells more."))
        }
    }

    private func note(_ id: String, _ change: @Sendable (inout ActionProgress) -> Void) async {
        let now = clock.now
        let due = guarded.withLock { state in
            guard let action = state.book.note(id, change) else { return nil as Action? }
            guard abs(now - state.notedAt[id, default: -.infinity]) >= Self.notePause else { return nil }
            state.notedAt[id] = now
            return action
        }
        guard let due else { return }
        events.emit(.action(due))
        _ = await record(id)
    }

    /// Puts it on disk as it is now; false where that failed.
    private func record(_ id: String) async -> Bool {
        await turns.lock(id)
        defer { turns.unlock(id) }
        guard let action = guarded.withLock({ $0.book[id] }) else { return true }
        do throws(StoreError) {
            try await store.put(action)
            return true
        } catch {
            log.write(.warning, "an action could not be recorded", [("id", id), ("reason", "\(error)")])
            return false
        }
    }

    /// Puts the end on disk, however long that takes; it is shown from memory until then.
    private func settle(_ action: Action) async {
        while !(await record(action.id)) {
            guard guarded.withLock({ $0.isRunning }) else { return }
            await clock.sleep(until: clock.now + Self.notePause)
        }
        guarded.withLock { $0.book.remove(action.id) }
    }

    // MARK: ActionKeeping

    package func submit(_ action: Action) async throws -> Action {
        try works[action.request.type]?.check(action.request)
        guard guarded.withLock({ !$0.book.isFull }) else {
            throw Problem(
                .tooManyActions, "\(ActionBook.capacity) wait already. Cancel some, or try again when some are done.",
                fields: ["Retry-After": "10"])
        }
        do throws(StoreError) { try await store.put(action) } catch { throw Problem.from(error) }
        guarded.withLock { $0.book.add(action) }
        events.emit(.action(action))
        wake()
        return action
    }

    package func action(_ id: String) async throws -> Action? {
        if let action = guarded.withLock({ $0.book[id] }) { return action }
        return try await store.action(id)
    }

    package func actions(partitions: [PartitionID]?, after: String?, limit: Int) async throws -> Page<Action> {
        var page = try await store.actions(partitions: partitions, after: after, limit: limit)
        guarded.withLock { state in page.items = page.items.map { state.book[$0.id] ?? $0 } }
        return page
    }

    package func cancel(_ id: String) async throws -> Action? {
        let now = clock.now
        let (action, task) = guarded.withLock { state in
            (state.book.cancel(id, at: now), state.tasks[id])
        }
        guard let action else { return try await store.action(id) }
        task?.cancel()
        events.emit(.action(action))
        if action.state == .finished { await settle(action) } else { _ = await record(id) }
        return action
    }

    package func suspend(_ suspended: Bool) {
        let tasks = guarded.withLock { state in
            state.isSuspended = suspended
            return suspended ? Array(state.tasks.values) : []
        }
        for task in tasks { task.cancel() }
        wake()
    }
}
