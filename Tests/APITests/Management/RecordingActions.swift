import CacheCore
import Synchronization

/// Keeps what it was asked to run, and runs nothing.
final class RecordingActions: ActionKeeping {
    private let kept = Mutex<[Action]>([])
    let suspensions = Mutex<[Bool]>([])

    var submitted: [Action] { kept.withLock { $0 } }

    func submit(_ action: Action) async throws -> Action {
        kept.withLock { $0.append(action) }
        return action
    }

    func action(_ id: String) async throws -> Action? { kept.withLock { $0.first { $0.id == id } } }

    func actions(partitions: [PartitionID]?, after: String?, limit: Int) async throws -> Page<Action> {
        let all = kept.withLock { $0 }.filter {
            partitions?.contains($0.partition) ?? true && $0.id > after ?? ""
        }
        let items = Array(all.prefix(limit))
        return Page(items: items, next: all.count > limit ? items.last?.id : nil)
    }

    func cancel(_ id: String) async throws -> Action? {
        kept.withLock { kept in
            guard let index = kept.firstIndex(where: { $0.id == id }) else { return nil }
            kept[index].completion = .canceled
            return kept[index]
        }
    }

    func suspend(_ suspended: Bool) { suspensions.withLock { $0.append(suspended) } }
}
