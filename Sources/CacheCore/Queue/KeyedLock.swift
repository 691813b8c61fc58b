import Synchronization

/// An asynchronous lock for each key and one for all keys together. First come, first served for each key; who waits for the
/// whole goes before those who come later for a key. Waiting suspends the task and holds no thread.
package final class KeyedLock<Key: Hashable & Sendable>: Sendable {
    private typealias Waiter = CheckedContinuation<Void, Never>

    private struct State: Sendable {
        /// Keys that are held, each with those that wait for it, in order.
        var held: [Key: [Waiter]] = [:]
        var wholeIsHeld = false
        var wholeWaiters: [Waiter] = []
        /// Came for a key after somebody had begun to wait for the whole.
        var parked: [(key: Key, waiter: Waiter)] = []
        /// Whether `tryLock` failed since the last release: its caller wants to know when to come again.
        var wasMissed = false
    }

    private let state = Mutex(State())

    package init() {}

    package func lock(_ key: Key) async {
        if state.withLock({ Self.takeFree(key, in: &$0) }) { return }
        await withCheckedContinuation { waiter in
            let isFree = state.withLock { state in
                if state.wholeIsHeld || !state.wholeWaiters.isEmpty {
                    state.parked.append((key, waiter))
                    return false
                }
                return Self.take(key, for: waiter, in: &state)
            }
            if isFree { waiter.resume() }
        }
    }

    /// Whether somebody holds the key, or all of them.
    package func isHeld(_ key: Key) -> Bool { state.withLock { $0.wholeIsHeld || $0.held[key] != nil } }

    /// Takes the key at once or not at all.
    package func tryLock(_ key: Key) -> Bool {
        state.withLock { state in
            if Self.takeFree(key, in: &state) { return true }
            state.wasMissed = true
            return false
        }
    }

    /// True where a `tryLock` failed meanwhile.
    @discardableResult
    package func unlock(_ key: Key) -> Bool {
        let (next, wasMissed) = state.withLock { state -> ([Waiter], Bool) in
            defer { state.wasMissed = false }
            if var waiters = state.held[key], !waiters.isEmpty {
                let next = waiters.removeFirst()
                state.held[key] = waiters
                return ([next], state.wasMissed)
            }
            state.held[key] = nil
            guard state.held.isEmpty, !state.wholeWaiters.isEmpty else { return ([], state.wasMissed) }
            state.wholeIsHeld = true
            return ([state.wholeWaiters.removeFirst()], state.wasMissed)
        }
        for waiter in next { waiter.resume() }
        return wasMissed
    }

    /// Takes all keys together.
    package func lockAll() async {
        await withCheckedContinuation { waiter in
            let isFree = state.withLock { state in
                guard !state.wholeIsHeld, state.held.isEmpty, state.wholeWaiters.isEmpty else {
                    state.wholeWaiters.append(waiter)
                    return false
                }
                state.wholeIsHeld = true
                return true
            }
            if isFree { waiter.resume() }
        }
    }

    /// True where a `tryLock` failed meanwhile.
    @discardableResult
    package func unlockAll() -> Bool {
        let (next, wasMissed) = state.withLock { state -> ([Waiter], Bool) in
            defer { state.wasMissed = false }
            state.wholeIsHeld = false
            let parked = state.parked
            state.parked = []
            var next: [Waiter] = []
            for (key, waiter) in parked where Self.take(key, for: waiter, in: &state) { next.append(waiter) }
            if state.held.isEmpty, !state.wholeWaiters.isEmpty {
                state.wholeIsHeld = true
                next.append(state.wholeWaiters.removeFirst())
            }
            return (next, state.wasMissed)
        }
        for waiter in next { waiter.resume() }
        return wasMissed
    }

    private static func takeFree(_ key: Key, in state: inout State) -> Bool {
        guard !state.wholeIsHeld, state.wholeWaiters.isEmpty, state.held[key] == nil else { return false }
        state.held[key] = []
        return true
    }

    /// Gives the free key to the waiter, or lets it wait behind the others.
    private static func take(_ key: Key, for waiter: Waiter, in state: inout State) -> Bool {
        guard state.held[key] != nil else {
            state.held[key] = []
            return true
        }
        state.held[key]?.append(waiter)
        return false
    }
}
