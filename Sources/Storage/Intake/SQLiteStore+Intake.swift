package import CacheCore
import Synchronization

extension SQLiteStore {
    package func intake() async throws(StoreError) -> any EntryIntake { SQLiteIntake(self) }
}

/// Entries wait in a table of their own, so that memory holds few of them, however many there are.
private final class SQLiteIntake: EntryIntake {
    private static let batch = 64
    private let store: SQLiteStore
    private let number: Int64
    private let waiting = Mutex<[Entry]>([])

    init(_ store: SQLiteStore) {
        self.store = store
        number = store.shared.memory.state.withLock { state in
            state.intakes += 1
            return state.intakes
        }
    }

    func add(_ entry: Entry) async throws(StoreError) {
        let count = waiting.withLock { waiting in
            waiting.append(entry)
            return waiting.count
        }
        if count >= Self.batch { try await setAside() }
    }

    private func setAside() async throws(StoreError) {
        let entries = waiting.withLock { waiting in
            defer { waiting = [] }
            return waiting
        }
        try await store.write(.other { [number] in try $0.setAside(entries, for: number) }, durable: false)
    }

    func commit() async throws(StoreError) {
        try await setAside()
        await store.behind.flush()
        try await store.write(.other { [number] in try $0.takeIncoming(number) }, durable: true)
        store.shared.view?.invalidateAll()
    }

    func discard() async {
        waiting.withLock { $0 = [] }
        do throws(StoreError) {
            try await store.write(.freeing { [number] in try $0.dropIncoming(number) }, durable: true)
        } catch {
            // The next start drops them.
            store.shared.log.write(.warning, "entries that were given up could not be dropped", [("error", "\(error)")])
        }
    }
}
