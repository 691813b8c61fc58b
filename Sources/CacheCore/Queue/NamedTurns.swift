import Synchronization

/// One at a time for each name, first come, first served. Waiting holds no thread. Safe from any task.
package final class NamedTurns<Name: Hashable & Sendable>: Sendable {
    private struct Waiter: Sendable {
        var number: UInt64
        /// Resumed with whether it got the turn.
        var continuation: CheckedContinuation<Bool, Never>
    }

    private struct State: Sendable {
        /// Names whose turn is taken, each with those that wait for it, in order.
        var taken: [Name: [Waiter]] = [:]
        var lastNumber: UInt64 = 0

        mutating func takeFree(_ name: Name) -> Bool {
            guard taken[name] == nil else { return false }
            taken[name] = []
            return true
        }
    }

    private let state = Mutex(State())

    package init() {}

    package func isTaken(_ name: Name) -> Bool { state.withLock { $0.taken[name] != nil } }

    /// Waits for the turn. Each is passed on with `pass`.
    package func take(_ name: Name) async {
        if state.withLock({ $0.takeFree(name) }) { return }
        _ = await wait(for: name, number: nextNumber()) { false }
    }

    /// Waits for the turn until `deadline` (seconds since 1970); false where it has not come by then. A free one is had at any time.
    package func take(_ name: Name, until deadline: Double, of clock: any Clock) async -> Bool {
        if state.withLock({ $0.takeFree(name) }) { return true }
        let number = nextNumber()
        let timer = Task {
            await clock.sleep(until: deadline)
            giveUp(number, for: name)
        }
        defer { timer.cancel() }
        // The time may be over before the waiter stands in its row.
        return await wait(for: name, number: number) { clock.now >= deadline }
    }

    package func pass(_ name: Name) {
        let next: Waiter? = state.withLock { state in
            guard var waiting = state.taken[name], !waiting.isEmpty else {
                state.taken[name] = nil
                return nil
            }
            let next = waiting.removeFirst()
            state.taken[name] = waiting
            return next
        }
        next?.continuation.resume(returning: true)
    }

    private func nextNumber() -> UInt64 {
        state.withLock { state in
            state.lastNumber += 1
            return state.lastNumber
        }
    }

    private func wait(for name: Name, number: UInt64, isOver: () -> Bool) async -> Bool {
        await withCheckedContinuation { continuation in
            let result: Bool? = state.withLock { state in
                if state.takeFree(name) { return true }
                if isOver() { return false }
                state.taken[name]?.append(Waiter(number: number, continuation: continuation))
                return nil
            }
            if let result { continuation.resume(returning: result) }
        }
    }

    private func giveUp(_ number: UInt64, for name: Name) {
        let waiter: Waiter? = state.withLock { state in
            guard let place = state.taken[name]?.firstIndex(where: { $0.number == number }) else { return nil }
            return state.taken[name]?.remove(at: place)
        }
        waiter?.continuation.resume(returning: false)
    }
}
