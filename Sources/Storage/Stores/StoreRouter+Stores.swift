package import CacheCore
import HTTPModel
import Synchronization

/// Which stores there are. The caller sees to it that nobody accepts, claims or records meanwhile.
extension StoreRouter {
    /// Makes the store reachable for the targets of its patterns, or known as detached where `store` is nil. `waiting`: targets of
    /// the operations that a detached one has. `mode`: its own. What the queue takes over.
    package func put(
        _ name: String, patterns: [PathPattern], store: (any Store)?, isStarted: Bool, mode: CacheMode? = nil,
        waiting: Set<Target> = []
    ) async throws(StoreError) -> QueueImage {
        var images: [(index: Int, image: QueueImage)] = []
        for seat in seats { images.append((seat.index, try await seat.store.loadQueue())) }
        let image = try await store?.loadQueue() ?? .empty
        table.withLock { table in
            let opening = table.index(named: name).map { table.slots[$0].opening } ?? 0
            let index = table.set(
                .init(
                    name: name, patterns: patterns, store: store, opening: opening + 1,
                    status: isStarted ? .started : .attached, mode: mode,
                    waiting: isStarted ? waiting : waiting.union(image.operations.map(\.lane.target))))
            for known in images { table.note(known.image, in: known.index) }
            if isStarted { table.note(image, in: index) }
        }
        invalidateView()
        return isStarted ? image : .empty
    }

    /// Takes note of what another process has changed in the store.
    package func note(_ changes: [StoreChange], of name: String) {
        table.withLock { table in
            guard let index = table.index(named: name), table.slots[index].status == .started else { return }
            table.note(changes, in: index)
        }
    }

    /// What lies in the store's queue.
    package func image(of name: String) async throws(StoreError) -> QueueImage {
        try await store(named: name)?.loadQueue() ?? .empty
    }

    /// Lets a store that is attached, but not started, be found. What the queue takes over.
    package func start(_ name: String) async throws(StoreError) -> QueueImage {
        let image = try await image(of: name)
        table.withLock { table in
            guard let index = table.index(named: name) else { return }
            table.change(index) { slot in
                slot.status = .started
                slot.opening += 1
                slot.waiting = []
            }
            table.note(image, in: index)
        }
        invalidateView()
        return image
    }

    /// Lets a started store no longer be found: `detaching` it for good, or as stopped. `image`: what its queue has.
    package func stop(_ name: String, detaching: Bool, _ image: QueueImage) {
        table.withLock { table in
            guard let index = table.index(named: name) else { return }
            table.forget(index)
            table.change(index) { slot in
                slot.status = .stopped
                slot.opening += 1
                slot.waiting.formUnion(image.operations.map(\.lane.target))
                if detaching { slot.store = nil }
            }
        }
        invalidateView()
    }

    /// Expects no operation from a detached store any longer: another one has its files.
    package func forgetWaiting(in name: String) {
        table.withLock { table in
            guard let index = table.index(named: name), table.slots[index].store == nil else { return }
            table.change(index) { slot in
                slot.waiting = []
                slot.opening += 1
            }
        }
    }

    /// Whether the store is there, started or not.
    package func store(named name: String) -> (any Store)? {
        table.withLock { table in table.index(named: name).flatMap { table.slots[$0].store } }
    }

    /// nil: it is not attached.
    package func status(of name: String) -> StoreStatus? {
        table.withLock { table in
            table.index(named: name).flatMap { table.slots[$0].store == nil ? nil : table.slots[$0].status }
        }
    }
}
