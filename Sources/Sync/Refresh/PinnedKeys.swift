import CacheCore
import Synchronization

/// Which entries are pinned, so that a round needs not look through all there are. Safe from any thread.
final class PinnedKeys: Sendable {
    private struct State {
        var keys: [EntryKey: PinPriority] = [:]
        var readAt: Double?
        /// Since the last reading began.
        var changes: [EntryKey: PinPriority?] = [:]
    }

    private let state = Mutex(State())

    /// A pin was set or removed.
    func set(_ priority: PinPriority?, of key: EntryKey) {
        state.withLock { state in
            state.keys[key] = priority
            state.changes[key] = .some(priority)
        }
    }

    /// Whether all entries are to be read for pins: they never were, or so many seconds ago. Stores that were attached and
    /// partitions that were adopted bring pins that nobody set. Where it is so, a reading begins.
    func beginReading(at now: Double, lifetime: Double) -> Bool {
        state.withLock { state in
            if let readAt = state.readAt, (0..<lifetime).contains(now - readAt) { return false }
            state.changes = [:]
            return true
        }
    }

    /// What all entries showed; pins that were set and removed meanwhile count as they are now.
    func replace(by found: [EntryKey: PinPriority], readAt: Double) {
        state.withLock { state in
            state.keys = found
            for (key, priority) in state.changes { state.keys[key] = priority }
            state.readAt = readAt
        }
    }

    var count: Int { state.withLock { $0.keys.count } }

    /// Those of high priority, and the others.
    var all: (high: [EntryKey], normal: [EntryKey]) {
        let keys = state.withLock { $0.keys }
        return (keys.filter { $0.value == .high }.map(\.key), keys.filter { $0.value == .normal }.map(\.key))
    }
}
