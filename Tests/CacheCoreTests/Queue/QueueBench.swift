import CacheCore
import HTTPModel
import Synchronization
import TestSupport

/// A queue on a store in memory, a clock moved by hand, and short ways to write and deliver.
final class QueueBench: Sendable {
    let store = MemoryStore()
    let clock = ManualClock()
    let events = CollectedEvents()
    let settings = SettingsBox(Settings())
    let queue: OperationQueue

    init() { queue = OperationQueue(store: store, clock: clock, events: events, settings: settings) }

    static func key(_ target: String) -> EntryKey { EntryKey(partition: .none, target: Target(unchecked: target)) }

    /// Another queue on the same store, as after a restart.
    func restarted() async throws -> OperationQueue {
        let queue = OperationQueue(store: store, clock: clock, events: events, settings: settings)
        try await queue.load()
        return queue
    }

    @discardableResult
    func write(
        _ method: HTTPMethod, _ target: String, _ body: String? = nil, type: String = "application/json",
        if precondition: Precondition = .none, key: String? = nil, policy: Policy = Policy(),
        kind: OperationKind? = nil
    ) async throws -> Operation {
        var content: Content?
        if let body { content = try await store.makeContent(Array(body.utf8), for: .operation) }
        let print = Array("\(method) \(target) \(body ?? "") \(precondition)".utf8)
        return try await queue.accept(
            WriteDraft(
                key: Self.key(target), route: .resources, method: method,
                kind: kind ?? (method == .post ? .create : .edit),
                fields: body == nil ? [:] : ["Content-Type": type], body: content, precondition: precondition,
                policy: policy, idempotencyKey: key, fingerprint: Digest(bytes: print)))
    }

    /// The origin's copy, as read before.
    func read(_ target: String, _ body: String, etag: String) async throws {
        let content = try await store.makeContent(Array(body.utf8), for: .copy)
        let copy = ServerCopy(
            status: 200, fields: ["Content-Type": "application/json", "ETag": etag], content: content,
            requestTime: clock.now, responseTime: clock.now, epoch: store.epoch)
        try await store.commit([.putCopy(Self.key(target), copy)], durable: true)
    }

    func text(_ content: Content?) async throws -> String? {
        guard let content else { return nil }
        return String(decoding: try await store.bytes(of: content, limit: 1 << 20), as: UTF8.self)
    }

    func shown(_ target: String) async throws -> String? {
        try await text(queue.localEdit(of: Self.key(target))?.content)
    }

    func claimOne() async throws -> Operation? { try await queue.claim(limit: 1, now: clock.now).first?.operation }

    func deliver(_ id: OperationID, etag: String? = nil, newTarget: String? = nil, answer: String? = nil) async throws {
        var kept = KeptAnswer(status: 200, fields: ["Content-Type": "application/json"])
        if let answer { kept.content = try await store.makeContent(Array(answer.utf8), for: .operation) }
        try await queue.record(
            .delivered(
                answer: kept, newTarget: newTarget.map { Target(unchecked: $0) }, newBase: Base(etag: etag), copies: []),
            of: id)
    }

    func conflict(_ operation: Operation, server: ConflictVersion?) -> Conflict {
        Conflict(
            id: IDs.record(now: clock.now), key: operation.lane, kind: .edited, operationID: operation.id,
            method: operation.method, fields: operation.fields, base: nil, client: ConflictVersion(), server: server,
            serverIsLatest: true, originAnswer: nil, policy: operation.policy, createdAt: clock.now)
    }
}

/// Keeps what was emitted.
final class CollectedEvents: EventSink {
    private let all = Mutex<[Event]>([])
    func emit(_ event: Event) { all.withLock { $0.append(event) } }

    /// The states that the operation went through, as told.
    func states(of id: OperationID) -> [OperationState] {
        all.withLock { events in
            events.compactMap { if case .operation(let one, _) = $0, one.id == id { one.state } else { nil } }
        }
    }
}
