import CacheCore
import HTTPModel
import Storage
import TestSupport

/// Two locations, and processes that have a mirrored store in them open.
struct MirrorFixture: Sendable {
    let primary = TemporaryFolder()
    let mirror = TemporaryFolder()
    let clock = ManualClock()

    func app(
        isStrict: Bool = false, strategy: StrategyName = .mixed, orphanRetention: Double = 600,
        view: (any HitView)? = nil
    ) async throws -> MirroredStore {
        var options = StoreOptions(strategy: strategy)
        options.orphanRetention = orphanRetention
        return try await MirroredStore.open(
            MirrorPlan(
                primary: primary.path + "/p", mirror: mirror.path + "/m", file: "holdfast.shared.sqlite", role: .app,
                isStrict: isStrict, options: options),
            clock: clock, log: SilentLog(), view: view)
    }

    func `extension`(delivers: Bool = false) async throws -> MirroredStore {
        try await MirroredStore.open(
            MirrorPlan(
                primary: nil, mirror: mirror.path + "/m", file: "holdfast.shared.sqlite", role: .extension,
                delivers: delivers),
            clock: clock, log: SilentLog(), view: nil)
    }

    /// One side as a store of its own, while nobody else has it open.
    func side(_ side: StoreSide) throws -> SQLiteStore {
        try SQLiteStore.open(
            folder: side == .primary ? primary.path + "/p" : mirror.path + "/m", name: "holdfast.shared.sqlite",
            clock: clock, log: SilentLog())
    }

    func key(_ target: String) -> EntryKey { EntryKey(partition: .none, target: Target(unchecked: target)) }

    func put(_ text: String, at target: String, in store: any Store) async throws {
        let content = try await store.makeContent(Array(text.utf8), for: .copy)
        try await store.commit([.putCopy(key(target), sampleCopy(content))], durable: true)
    }

    func text(at target: String, in store: any Store) async throws -> String? {
        guard let copy = try await store.entry(key(target))?.copies.first else { return nil }
        return String(decoding: try await store.bytes(of: copy.content, limit: 1 << 20), as: UTF8.self)
    }

    func operation(_ sequence: Int64, _ state: OperationState = .pending, id: String? = nil) -> Operation {
        var operation = sampleOperation(sequence, nil)
        if let id { operation.id = OperationID(id) }
        operation.state = state
        return operation
    }
}
