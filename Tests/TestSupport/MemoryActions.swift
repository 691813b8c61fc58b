package import CacheCore
import Synchronization

/// Actions in memory, for tests.
package final class MemoryActions: ActionStore {
    private struct State: Sendable {
        var kept: [String: Action] = [:]
        var puts = 0
        var failures = 0
    }
    private let state = Mutex(State())

    package init() {}

    /// Lets the next writes fail.
    package func failNext(_ count: Int) { state.withLock { $0.failures = count } }
    /// How often one was written.
    package var puts: Int { state.withLock { $0.puts } }

    package func put(_ action: Action) async throws(StoreError) {
        let isFailing = state.withLock { state in
            state.puts += 1
            guard state.failures == 0 else {
                state.failures -= 1
                return true
            }
            state.kept[action.id] = action
            return false
        }
        if isFailing { throw .full }
    }

    package func action(_ id: String) async throws(StoreError) -> Action? { state.withLock { $0.kept[id] } }

    package func actions(
        partitions: [PartitionID]?, after: String?, limit: Int
    ) async throws(StoreError) -> Page<Action> {
        let all = sorted.filter { (partitions?.contains($0.partition) ?? true) && $0.id > after ?? "" }
        let items = Array(all.prefix(limit))
        return Page(items: items, next: all.count > limit ? items.last?.id : nil)
    }

    package func unfinishedActions() async throws(StoreError) -> [Action] { sorted.filter { $0.state != .finished } }

    private var sorted: [Action] { state.withLock { $0.kept.values.sorted { $0.id < $1.id } } }
}
