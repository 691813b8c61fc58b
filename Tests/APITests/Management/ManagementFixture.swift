import API
import CacheCore
import HTTPModel
import Synchronization
import TestSupport

/// The management over the write fixture's store, queue and origin.
struct ManagementFixture {
    let writes = WriteFixture()
    let delivery = ScriptedDelivery()
    let stores = RecordingStores()
    let actions = RecordingActions()
    let hub: EventHub
    let service: ManagementService

    init() {
        hub = EventHub(clock: writes.clock, epoch: writes.store.epoch, heartbeat: 15)
        let context = ServiceContext(
            store: writes.store, uploads: writes.uploads, origin: writes.origin, queue: writes.queue,
            delivery: delivery, network: writes.network, credentials: CredentialKeeper(), settings: writes.settings,
            expiries: writes.store.expiries, clock: writes.clock, events: Silence(), log: Silence(),
            digest: { _ in Digest(bytes: [UInt8](repeating: 7, count: 32)) },
            hash: { PlainHash($0) },
            partitionHash: { _, _ in PartitionID(high: 1, low: 2) })
        service = ManagementService(
            context: context, counters: Counters(view: DictionaryView()), events: hub,
            operationCounters: OperationCounters(),
            stores: stores, actions: actions, invalidateView: {}, isReady: { true })
    }

    /// One request; a problem that is thrown is the reply.
    func send(
        _ method: HTTPMethod, _ target: String, _ body: String = "", fields: HTTPFields = HTTPFields(),
        access: Access = .full
    ) async throws -> WriteFixture.Reply {
        let head = RequestHead(
            method: method, target: target, fields: fields, bodyLength: Int64(body.utf8.count))
        let exchange = ClientExchange(head, body: Array(body.utf8))
        let path = target.prefix { $0 != "?" }
        do {
            try await service.handle(
                exchange, path: String(path), query: QueryParameters(Target(unchecked: target).query), access: access)
        } catch let problem as Problem {
            return .init(
                status: problem.status, fields: problem.fields, body: problem.body(instance: nil), problem: problem)
        }
        let answer = exchange.answer
        return .init(status: answer.head?.status ?? 0, fields: answer.head?.fields ?? HTTPFields(), body: answer.body)
    }

    /// Keeps an open conflict of `/items/1` whose versions differ at `/v`.
    func conflict(partition: PartitionID = .none) async throws -> Conflict {
        func version(_ json: String, _ tag: String) async throws -> ConflictVersion {
            let content = try await writes.store.makeContent(Array(json.utf8), for: .operation)
            return ConflictVersion(etag: tag, mediaType: "application/json", content: content)
        }
        let conflict = Conflict(
            id: IDs.record(now: writes.clock.now),
            key: EntryKey(partition: partition, target: Target(unchecked: "/items/1")), kind: .edited,
            operationID: nil, method: .put, fields: ["Content-Type": "application/json"],
            base: try await version("{\"v\":1}", "\"1\""), client: try await version("{\"v\":2}", "\"1\""),
            server: try await version("{\"v\":3}", "\"3\""), serverIsLatest: true, originAnswer: nil,
            policy: Policy(), createdAt: writes.clock.now)
        try await writes.queue.record(conflict)
        return conflict
    }
}

/// Delivery that says what a test wants, and keeps how it was asked to resolve.
final class ScriptedDelivery: Delivery {
    private struct State {
        var unfinished: [OperationID] = []
        var outcome = ResolutionOutcome.resolved
        var resolutions: [Resolution] = []
        var isSuspended = false
    }
    private let state = Mutex(State())

    func answer(_ outcome: ResolutionOutcome) { state.withLock { $0.outcome = outcome } }
    func answer(_ unfinished: [OperationID]) { state.withLock { $0.unfinished = unfinished } }
    var resolutions: [Resolution] { state.withLock { $0.resolutions } }

    func syncNow(deadline: Double) async -> [OperationID] { state.withLock { $0.unfinished } }
    func resolve(_ conflict: Conflict, by resolution: Resolution) async throws -> ResolutionOutcome {
        state.withLock { state in
            state.resolutions.append(resolution)
            return state.outcome
        }
    }
    var isSuspended: Bool { state.withLock { $0.isSuspended } }
    func suspend(_ suspended: Bool) { state.withLock { $0.isSuspended = suspended } }
}
