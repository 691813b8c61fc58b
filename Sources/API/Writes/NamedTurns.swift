import Synchronization

/// One at a time for each name, first come, first served. Waiting holds no thread. Safe from any task.
final class NamedTurns<Name: Hashable & Sendable>: Sendable {
    private let taken = Mutex<[Name: [CheckedContinuation<Void, Never>]]>([:])

    /// Waits for the turn. Each is passed on with `pass`.
    func take(_ name: Name) async {
        await withCheckedContinuation { continuation in
            let isFree = taken.withLock { taken in
                guard taken[name] != nil else {
                    taken[name] = []
                    return true
                }
                taken[name]?.append(continuation)
                return false
            }
            if isFree { continuation.resume() }
        }
    }

    func pass(_ name: Name) {
        let next: CheckedContinuation<Void, Never>? = taken.withLock { taken in
            guard var waiting = taken[name], !waiting.isEmpty else {
                taken[name] = nil
                return nil
            }
            let next = waiting.removeFirst()
            taken[name] = waiting
            return next
        }
        next?.resume()
    }
}
