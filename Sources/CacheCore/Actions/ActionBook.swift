/// All unfinished actions, in the order of their creation: which may run, and what becomes of each. Pure; the owner performs what
/// it is told.
///
/// At most `concurrency` run together. Those that have a store in common run one after the other, in order; one that can't run
/// now, because the origin is away or a credential is not known, is passed by those behind it.
package struct ActionBook: Sendable {
    package static let concurrency = 5
    /// How many may be unfinished.
    package static let capacity = 100

    private var actions: [Action] = []
    /// Since when each one runs.
    private var runningSince: [String: Double] = [:]

    package init() {}

    /// As of the last change; nil where there is none of that id, or it was removed.
    package subscript(id: String) -> Action? { actions.first { $0.id == id } }

    package var isFull: Bool { actions.count(where: { $0.state != .finished }) >= Self.capacity }

    package mutating func add(_ action: Action) { actions.append(action) }

    /// Takes up what an earlier start of the service has left; whether it waits again or was ended by that.
    package mutating func restore(_ action: Action, at now: Double) {
        // What a client has asked for meanwhile is here already.
        guard self[action.id] == nil else { return }
        actions.append(action)
        if action.state == .executing { _ = end(action.id, .stopped, at: now) }
    }

    /// Has those begin that may, and the others wait. Those that changed, in order; the executing ones among them are to be run.
    package mutating func advance(at now: Double, if mayRun: (ActionRequest) -> Bool) -> [Action] {
        let running = actions.filter { $0.state == .executing }
        var taken = Set(running.flatMap(\.stores))
        var free = Self.concurrency - running.count
        var changed: [Action] = []
        for index in actions.indices where actions[index].state == .created || actions[index].state == .pending {
            let before = actions[index].state
            let mayRun = actions[index].reason == nil && mayRun(actions[index].request)
            if mayRun, free > 0, taken.isDisjoint(with: actions[index].stores) {
                begin(index, at: now)
                free -= 1
            } else {
                actions[index].state = .pending
            }
            if mayRun { taken.formUnion(actions[index].stores) }
            if actions[index].state != before { changed.append(actions[index]) }
        }
        return changed
    }

    private mutating func begin(_ index: Int, at now: Double) {
        actions[index].state = .executing
        actions[index].startedAt = actions[index].startedAt ?? now
        actions[index].starts += 1
        runningSince[actions[index].id] = now
    }

    /// Takes note of what one that runs has done; nil where it no longer runs.
    package mutating func note(_ id: String, _ change: (inout ActionProgress) -> Void) -> Action? {
        guard let index = index(of: id), actions[index].state == .executing else { return nil }
        change(&actions[index].progress)
        return actions[index]
    }

    /// Cancels: at once where it waits; one that runs is to end soon. nil where there is none; a second call changes nothing.
    package mutating func cancel(_ id: String, at now: Double) -> Action? {
        guard let index = index(of: id) else { return nil }
        guard actions[index].state != .finished else { return actions[index] }
        actions[index].completion = .canceled
        if actions[index].state != .executing { finish(index, at: now) }
        return actions[index]
    }

    /// The work has ended so. nil where it does not run.
    package mutating func end(_ id: String, _ outcome: ActionOutcome, at now: Double) -> Action? {
        guard let index = index(of: id), actions[index].state == .executing else { return nil }
        if let since = runningSince.removeValue(forKey: id) { actions[index].executionTime += max(0, now - since) }
        if case .failed(let problem) = outcome { actions[index].problem = problem }
        switch outcome {
        case _ where actions[index].completion == .canceled: finish(index, at: now)
        case .stopped: actions[index].state = .pending
        case .withoutCredential:
            actions[index].state = .pending
            actions[index].reason = Reason.credential
        case .done:
            actions[index].completion = .successful
            finish(index, at: now)
        case .failed:
            actions[index].completion = .failed
            finish(index, at: now)
        }
        return actions[index]
    }

    private mutating func finish(_ index: Int, at now: Double) {
        actions[index].state = .finished
        actions[index].finishedAt = now
        actions[index].reason = nil
        actions[index].progress.position = nil
    }

    /// Lets those go on that wait for a credential of the partition. Those that changed.
    package mutating func credentialArrived(for partition: PartitionID) -> [Action] {
        let waiting = actions.indices.filter { actions[$0].partition == partition && actions[$0].reason != nil }
        for index in waiting { actions[index].reason = nil }
        return waiting.map { actions[$0] }
    }

    /// Forgets one that is finished and on disk.
    package mutating func remove(_ id: String) { actions.removeAll { $0.id == id && $0.state == .finished } }

    package var executing: [Action] { actions.filter { $0.state == .executing } }
    package var finished: [Action] { actions.filter { $0.state == .finished } }

    private func index(of id: String) -> Int? { actions.firstIndex { $0.id == id } }
}

/// How the work of an action ended this time.
package enum ActionOutcome: Sendable, Hashable {
    case done
    /// Before its end: it is to wait and go on later.
    case stopped
    /// No credential of who asked for it is known: it waits until one arrives.
    case withoutCredential
    case failed(ActionProblem)
}
