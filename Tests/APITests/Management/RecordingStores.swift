import CacheCore
import Synchronization

/// Keeps what it was asked for; attached stores are there at once.
final class RecordingStores: StoreKeeping {
    let asked = Mutex<[StoreRequest]>([])
    let detached = Mutex<[(name: String, leaving: Bool)]>([])

    private func describe(_ request: StoreRequest) -> StoreDescription {
        StoreDescription(
            request: request, status: request.isStarted ? .started : .stopped,
            usage: StoreUsage(copies: 1, operations: 2, limit: 3, entries: 4, viewBytes: 5))
    }

    func stores() async throws -> [StoreDescription] { asked.withLock { $0 }.map { describe($0) } }

    var patterns: [(store: String, paths: [PathPattern])] {
        [(StoreName.standard, [PathPattern("/**")])] + asked.withLock { $0.map { ($0.name, $0.paths) } }
    }

    func attach(_ requests: [StoreRequest]) async throws -> [StoreDescription] {
        asked.withLock { $0 += requests }
        return requests.map { describe($0) }
    }

    func setStarted(_ isStarted: Bool, of name: String) async throws -> StoreDescription {
        let request = asked.withLock { asked -> StoreRequest? in
            guard let index = asked.firstIndex(where: { $0.name == name }) else { return nil }
            asked[index].isStarted = isStarted
            return asked[index]
        }
        guard let request else { throw Problem(.notFound, "No store of this name is attached.") }
        return describe(request)
    }

    func move(_ name: String, to location: String) async throws -> StoreDescription {
        let request = asked.withLock { asked -> StoreRequest? in
            guard let index = asked.firstIndex(where: { $0.name == name }) else { return nil }
            asked[index].location = location
            return asked[index]
        }
        guard let request else { throw Problem(.notFound, "No store of this name is attached.") }
        return describe(request)
    }

    func compare(
        _ name: String, byDigest: Bool, progress: @escaping @Sendable (MirrorStatus) -> Void
    ) async throws -> MirrorStatus {
        guard asked.withLock({ $0.contains { $0.name == name } }) else {
            throw Problem(.notFound, "No store of this name is attached.")
        }
        var status = MirrorStatus()
        (status.done, status.copied) = (7, 1)
        return status
    }

    private let currentMode = Mutex(CacheMode.automatic)
    let saves = Mutex<[SaveReason]>([])

    var mode: CacheMode { currentMode.withLock { $0 } }
    func setMode(_ mode: CacheMode) async throws { currentMode.withLock { $0 = mode } }
    func save(for reason: SaveReason) async throws -> Bool {
        saves.withLock { $0.append(reason) }
        return mode == .automatic || mode == .manualSaving && reason == .demand
    }

    func detach(_ name: String, leavingOperations: Bool) async throws {
        detached.withLock { $0.append((name, leavingOperations)) }
    }
}
