/// Keeps actions, across restarts too. Finished ones stay for `receiptRetention`. Callable from any task.
package protocol ActionStore: Sendable {
    /// Inserts or replaces by id, durably.
    func put(_ action: Action) async throws(StoreError)
    func action(_ id: String) async throws(StoreError) -> Action?
    /// In order of id, which is that of their creation.
    func actions(partitions: [PartitionID]?, after: String?, limit: Int) async throws(StoreError) -> Page<Action>
    /// Those that are not finished, in the same order.
    func unfinishedActions() async throws(StoreError) -> [Action]
}

/// Runs actions in the background. Callable from any task.
package protocol ActionKeeping: Sendable {
    /// Accepts one, durably. Throws a `Problem` where too many wait.
    func submit(_ action: Action) async throws -> Action
    /// As it is now, finished ones too; nil where there is none.
    func action(_ id: String) async throws -> Action?
    func actions(partitions: [PartitionID]?, after: String?, limit: Int) async throws -> Page<Action>
    /// Cancels it; a finished one stays as it is.
    func cancel(_ id: String) async throws -> Action?
    /// Pauses and resumes all (design 9, /cache/suspended).
    func suspend(_ suspended: Bool)
}

/// The work of one type of action.
package protocol ActionWork: Sendable {
    /// Refuses, with a `Problem`, what can be seen not to be possible before it is accepted.
    func check(_ request: ActionRequest) throws
    /// Does the work, in parts between which it looks for `Task.isCancelled`. False: it was stopped before its end, and goes on when
    /// it is called again, from what the progress tells. Throws why it failed.
    func run(_ turn: ActionTurn) async throws -> Bool
}

extension ActionWork {
    package func check(_ request: ActionRequest) throws {}
}

/// One run of an action, as its work sees it.
package struct ActionTurn: Sendable {
    /// As it was when this run began.
    package let action: Action
    /// Takes note of progress. Callable from any task.
    package let note: @Sendable (@escaping @Sendable (inout ActionProgress) -> Void) async -> Void

    package init(
        _ action: Action, note: @escaping @Sendable (@escaping @Sendable (inout ActionProgress) -> Void) async -> Void
    ) {
        self.action = action
        self.note = note
    }
}
