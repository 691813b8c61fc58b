import CacheCore
import Synchronization

/// A clock that stands still until a test moves it.
package final class ManualClock: Clock {
    private struct State {
        var now: Double
        var nextID: UInt64 = 0
        var sleepers: [UInt64: (time: Double, continuation: CheckedContinuation<Void, Never>)] = [:]
        /// Sleeps that were cancelled before they were entered above.
        var cancelled: Set<UInt64> = []
    }
    private let state: Mutex<State>

    /// Starts at `now`, in seconds since 1970.
    package init(now: Double = 1_700_000_000) { state = Mutex(State(now: now)) }

    package var now: Double { state.withLock { $0.now } }

    /// Moves on by `seconds` and wakes who waited for a time that has come.
    package func advance(by seconds: Double) {
        let due = state.withLock { state in
            state.now += seconds
            let due = state.sleepers.filter { $0.value.time <= state.now }
            for id in due.keys { state.sleepers[id] = nil }
            return due.values.sorted { $0.time < $1.time }.map(\.continuation)
        }
        for continuation in due { continuation.resume() }
    }

    /// How many sleep now, for tests that wait until their subject sleeps.
    package var sleeperCount: Int { state.withLock { $0.sleepers.count } }

    /// The earliest time that somebody sleeps until; nil where nobody does.
    package var nextWake: Double? { state.withLock { $0.sleepers.values.map(\.time).min() } }

    package func sleep(until time: Double) async {
        let id = state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = state.withLock { state in
                    if state.cancelled.remove(id) != nil || state.now >= time { return true }
                    state.sleepers[id] = (time, continuation)
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            let continuation = state.withLock { state in
                guard let sleeper = state.sleepers.removeValue(forKey: id) else {
                    state.cancelled.insert(id)
                    return nil as CheckedContinuation<Void, Never>?
                }
                return sleeper.continuation
            }
            continuation?.resume()
        }
        state.withLock { state in _ = state.cancelled.remove(id) }
    }
}
