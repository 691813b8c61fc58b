import CacheCore
import HTTPModel
import Sync
import Synchronization
import TestSupport

/// An origin that answers by a closure and keeps what it was sent.
final class FakeOrigin: Origin {
    struct Sent: Sendable {
        var method: HTTPMethod
        var target: String
        var fields: HTTPFields
        var body: String
    }
    typealias Reply = Result<(Int, HTTPFields, String), OriginError>

    let base = "http://origin.test"
    private let record = Mutex<[Sent]>([])
    private let script: @Sendable (Sent) -> Reply

    init(_ script: @escaping @Sendable (Sent) -> Reply) { self.script = script }

    var sent: [Sent] { record.withLock { $0 } }
    var methods: [String] { sent.map(\.method.rawValue) }

    func send(_ request: OriginRequest) async throws(OriginError) -> OriginResponse {
        var body: [UInt8] = []
        switch request.body {
        case .none: break
        case .bytes(let bytes): body = bytes
        case .stream(_, let source):
            while let piece = try? await source.next() { body += piece }
        }
        let sent = Sent(
            method: request.method, target: request.target, fields: request.fields,
            body: String(decoding: body, as: UTF8.self))
        record.withLock { $0.append(sent) }
        let (status, fields, text) = try script(sent).get()
        return OriginResponse(status: status, fields: fields, body: Pieces(text))
    }

    func probeConnection() async throws(OriginError) {
        _ = try await send(OriginRequest(method: HTTPMethod(rawValue: "CONNECT"), target: ""))
    }
}

final class Pieces: BodySource {
    private let left: Mutex<[UInt8]>
    init(_ text: String) { left = Mutex(Array(text.utf8)) }
    func next() async throws -> [UInt8]? {
        left.withLock { bytes in
            defer { bytes = [] }
            return bytes.isEmpty ? nil : bytes
        }
    }
    func cancel() {}
}

/// A clock whose sleepers wake at once, at the time they asked for.
final class JumpingClock: Clock {
    private let time = Mutex(1_700_000_000.0)
    var now: Double { time.withLock { $0 } }
    func sleep(until time: Double) async { self.time.withLock { $0 = max($0, time) } }
}

struct NoLog: Log {
    func write(_ level: LogLevel, _ message: StaticString, _ values: [(String, String)]) {}
}

struct NoEvents: EventSink {
    func emit(_ event: Event) {}
}

/// A queue that hands out what it is given once it is due, and keeps the outcomes. No lanes.
final class FakeQueue: DeliveryQueue, WriteQueue {
    private struct State {
        var waiting: [Operation]
        var due: [OperationID: Double] = [:]
        var outcomes: [(OperationID, DeliveryOutcome)] = []
        var closed: [EntryKey] = []
        var recorded: [Conflict] = []
        var accepted: [WriteDraft] = []
        var claimed: [Int] = []
        var before: [OperationID: MembersBefore] = [:]
        var wake: (@Sendable () -> Void)?
    }
    private let state: Mutex<State>

    init(_ operations: [Operation] = []) { state = Mutex(State(waiting: operations)) }

    var outcomes: [(OperationID, DeliveryOutcome)] { state.withLock { $0.outcomes } }
    var closed: [EntryKey] { state.withLock { $0.closed } }
    var recorded: [Conflict] { state.withLock { $0.recorded } }
    var accepted: [WriteDraft] { state.withLock { $0.accepted } }

    func claim(
        limit: Int, now: Double, membersBefore: @Sendable (EntryKey) -> MembersBefore?
    ) async throws -> [Claim] {
        state.withLock { state in
            let taken = state.waiting.filter { state.due[$0.id] ?? 0 <= now }.prefix(limit)
            state.claimed.append(taken.count)
            state.waiting.removeAll { operation in taken.contains { $0.id == operation.id } }
            return taken.map { operation in
                var operation = operation
                operation.attempts += 1
                return Claim(operation: operation, mustVerify: operation.state == .unknown)
            }
        }
    }

    /// How many each claim took.
    var claimed: [Int] { state.withLock { $0.claimed } }
    func before(_ id: OperationID) -> MembersBefore? { state.withLock { $0.before[id] } }
    func keep(_ before: MembersBefore, of id: OperationID) async throws {
        state.withLock { $0.before[id] = before }
    }

    func record(_ outcome: DeliveryOutcome, of id: OperationID) async throws {
        let wake = state.withLock { state in
            state.outcomes.append((id, outcome))
            var again = Fixture.operation(id: id.text)
            again.attempts = state.outcomes.count { $0.0 == id }
            switch outcome {
            case .retry(let at, _, _):
                state.due[id] = at
                state.waiting.append(again)
            case .notSent: state.waiting.append(again)
            default: break
            }
            return state.wake
        }
        wake?()
    }

    func record(_ outcomes: [(id: OperationID, outcome: DeliveryOutcome)]) async -> [OperationID] {
        for (id, outcome) in outcomes { try? await record(outcome, of: id) }
        return []
    }

    func nextDue(now: Double) -> Double? {
        state.withLock { state in state.waiting.map { max(state.due[$0.id] ?? 0, now) }.min() }
    }
    func onWork(_ wake: @escaping @Sendable () -> Void) { state.withLock { $0.wake = wake } }
    func dueAtOnce(byHand: Bool) { state.withLock { $0.due = [:] } }
    func credentialArrived(for partition: PartitionID) {}
    func unfinished() -> [Operation] { state.withLock { $0.waiting } }
    func nextEdit(after operation: Operation) -> Operation? {
        state.withLock { $0.waiting.first { $0.lane == operation.lane && $0.sequence > operation.sequence } }
    }
    func isBehindStopped(_ operation: Operation) -> Bool { false }
    var partitionsWithoutCredential: Set<PartitionID> { [] }
    var collectionsOfCreates: Set<EntryKey> {
        state.withLock { state in
            let creates = state.waiting.filter { $0.kind == .create }
            return Set(creates.map { EntryKey(partition: $0.partition, target: $0.target) })
        }
    }
    func operation(_ id: OperationID) -> Operation? { state.withLock { $0.waiting.first { $0.id == id } } }

    func localEdit(of key: EntryKey) -> LocalEdit? { nil }
    func lane(of key: EntryKey) -> LaneStatus { .empty }
    func resolve(_ target: Target, of partition: PartitionID) -> ResolvedTarget { .itself }
    func serverTag(forDelivered hfTag: String, of key: EntryKey) async -> String? { nil }
    func takeTurn(at key: EntryKey, deadline: Double) async -> Bool { true }
    func passTurn(at key: EntryKey) {}
    func lookUp(key: String, fingerprint: Digest, of partition: PartitionID) async throws -> KeyLookup { .new }
    func accept(_ draft: WriteDraft) async throws -> Operation {
        state.withLock { $0.accepted.append(draft) }
        var accepted = Fixture.operation(id: "accepted")
        accepted.state = draft.initialState
        return accepted
    }
    func outcome(of id: OperationID, deadline: Double) async -> Operation? {
        var operation = Fixture.operation(id: id.text)
        operation.state = .delivered
        return operation
    }
    func onlineWriteSucceeded(on key: EntryKey) async throws { state.withLock { $0.closed.append(key) } }
    func record(_ conflict: Conflict, with answer: KeyRecord?) async throws {
        state.withLock { $0.recorded.append(conflict) }
    }
    func recordDropped(_ draft: WriteDraft, conflict: Conflict) async throws -> Operation {
        throw Problem(.notFound, "")
    }
    func conflict(of key: EntryKey) -> Conflict? { nil }
    func editedEntries(of partitions: [PartitionID]?) -> Set<EntryKey> { [] }
    func retry(_ id: OperationID) async throws -> Operation { throw Problem(.notFound, "") }
    func tryAgain(_ stopped: Operation) async throws -> Operation { throw Problem(.notFound, "") }
    func edit(_ id: OperationID, fields: HTTPFields?, body: Content?) async throws -> Operation {
        throw Problem(.notFound, "")
    }
    func discard(_ id: OperationID, cascade: Bool, force: Bool) async throws -> [Operation] { [] }
    func discard(_ ids: [OperationID], force: Bool) async throws -> [Operation] { [] }
    func discardAll(of key: EntryKey, force: Bool) async throws {}
    func adopt(from: PartitionID, to: PartitionID) async throws {}
    var counts: QueueCounts {
        QueueCounts(pending: 0, sending: 0, unknown: 0, failed: 0, conflict: 0, openConflicts: 0)
    }
}

/// All that an attempt needs around a fake origin.
struct Fixture: Sendable {
    let context: DeliveryContext
    let network: Connectivity
    let memory: DeliveryMemory
    let credentials = CredentialKeeper()
    let settings = SettingsBox(Settings())
    let store = MemoryStore()

    init(
        _ origin: FakeOrigin, queue: FakeQueue = FakeQueue(), clock: any Clock = JumpingClock(),
        secret: @escaping @Sendable () -> String? = { nil }
    ) {
        memory = DeliveryMemory(startedAt: clock.now)
        network = Connectivity(
            origin: origin, clock: clock, settings: settings, events: NoEvents(), log: NoLog())
        let sources = CredentialSources(
            settings: settings, clock: clock, log: NoLog(),
            partitionsOf: { [PartitionID(high: 1, low: UInt64($0.combined("Authorization")?.utf8.count ?? 0))] },
            read: { _ in secret() })
        context = DeliveryContext(
            queue: queue, store: store, origin: origin, network: network, credentials: credentials, sources: sources,
            settings: settings, clock: clock, log: NoLog(), makeID: { "made" },
            digest: { Digest(bytes: Array($0.prefix(32))) }, random: { 0 })
    }

    static func operation(
        id: String = "op1", _ method: HTTPMethod = .put, _ target: String = "/items/1", kind: OperationKind = .edit,
        precondition: Precondition = .none, base: Base = .unknown, body: Content? = nil, policy: Policy = Policy(),
        partition: PartitionID = .none
    ) -> Operation {
        Operation(
            id: OperationID(id), sequence: 1, kind: kind, method: method, partition: partition,
            target: Target(unchecked: target),
            temporaryTarget: kind == .create ? Target(unchecked: target + "/hf-1") : nil,
            fields: ["Content-Type": "application/json"], body: body, effective: body,
            effectiveType: "application/json", tag: "\"hf-1\"", precondition: precondition,
            preconditionIsClients: false, base: base, idempotencyKey: "KEY", fingerprint: Digest(bytes: [1]),
            policy: policy, createdAt: 0)
    }

    func content(_ text: String) async -> Content {
        try! await store.makeContent(Array(text.utf8), for: .operation)
    }

    func attempt(_ operation: Operation, attempts: Int = 1, verify: Bool = false) async -> DeliveryOutcome {
        var operation = operation
        operation.attempts = attempts
        let claim = Claim(operation: operation, mustVerify: verify)
        let outcome = await Attempt(claim, context: context, memory: memory).run()
        memory.note(outcome, of: operation.id)
        return outcome
    }
}
