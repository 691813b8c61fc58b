import CacheCore
import Synchronization

/// The right of one write to be the only one of its resource that is on its way to the origin. Passed on once, by whoever is first to
/// know that nothing of the order depends on it any more. Safe from any task.
final class ResourceTurn: Sendable {
    private let key: EntryKey
    private let queue: any WriteQueue
    private let isHeld = Mutex(true)

    /// nil where the turn has not come by `deadline` (seconds since 1970).
    init?(at key: EntryKey, in queue: any WriteQueue, deadline: Double) async {
        self.key = key
        self.queue = queue
        guard await queue.takeTurn(at: key, deadline: deadline) else { return nil }
    }

    func pass() {
        let wasHeld = isHeld.withLock { isHeld in
            defer { isHeld = false }
            return isHeld
        }
        if wasHeld { queue.passTurn(at: key) }
    }
}
