import API
import CacheCore
import HTTPModel
import Synchronization
import TestSupport
import Testing

/// An origin in the process that answers by a rule, and logs what it was asked.
final class ScriptedOriginPort: Origin {
    typealias Rule = @Sendable (OriginRequest) async throws(OriginError) -> OriginResponse
    let base = "http://origin.test"
    private let said = Mutex<Rule?>(nil)
    private let log = Mutex<[OriginRequest]>([])

    var requests: [OriginRequest] { log.withLock { $0 } }
    func answer(_ rule: @escaping Rule) { said.withLock { $0 = rule } }
    /// What it does now.
    var rule: Rule? { said.withLock { $0 } }

    func send(_ request: OriginRequest) async throws(OriginError) -> OriginResponse {
        log.withLock { $0.append(request) }
        guard let rule else { throw .cancelled }
        return try await rule(request)
    }
    func probeConnection() async throws(OriginError) {}
}

/// A body in pieces, each let go by the test or at once; may end early.
final class PacedBody: BodySource {
    private let pieces: Mutex<[[UInt8]]>
    private let latch: Latch
    private let isCut: Bool
    private let first = Mutex(true)

    /// All but the first piece wait for `latch`.
    init(_ pieces: [[UInt8]], latch: Latch = Latch(isOpen: true), isCut: Bool = false) {
        self.pieces = Mutex(pieces)
        self.latch = latch
        self.isCut = isCut
    }

    func next() async throws -> [UInt8]? {
        let isFirst = first.withLock { first in
            defer { first = false }
            return first
        }
        if !isFirst { await latch.wait() }
        let piece: [UInt8]? = pieces.withLock { $0.isEmpty ? nil : $0.removeFirst() }
        if piece == nil, isCut { throw OriginError.cutBody(reason: "reset") }
        return piece
    }
    func cancel() {}
}

/// A view that is a dictionary.
final class DictionaryView: HitView {
    private let hits = Mutex<[String: PreparedHit]>([:])
    private let tickets = Mutex<UInt64>(0)
    private let counts = Mutex<[EntryKey: EntryUses]>([:])
    /// A full one has no room for what was asked for once.
    let isFull = Mutex(false)

    var bytes: Int64 { hits.withLock { $0.values.reduce(0) { $0 + Int64($1.body.count) } } }

    static func name(_ partition: PartitionID, _ route: Route, _ target: String) -> String {
        "\(partition.text) \(route.rawValue) \(target)"
    }

    func withHit(
        _ key: HitKey, selects: (UnsafeRawBufferPointer) -> Bool, _ body: (HitParts) -> Bool
    ) -> Bool {
        let name = Self.name(key.partition, key.route, String(decoding: key.target, as: UTF8.self))
        guard let hit = hits.withLock({ $0[name] }) else { return false }
        var selecting: [UInt8] = []
        for field in hit.selecting { selecting += field.name + [0] + field.value + [0] }
        guard selecting.withUnsafeBytes(selects) else { return false }
        let isAnswered = hit.head.withUnsafeBytes { head in
            hit.body.withUnsafeBytes { bytes in
                hit.earlierCaches.withUnsafeBytes { caches in
                    body(
                        HitParts(
                            head: head,
                            notModifiedFields: UnsafeRawBufferPointer(rebasing: head[hit.notModifiedFrom...]),
                            body: bytes, etag: UnsafeRawBufferPointer(rebasing: head[hit.etag]),
                            earlierCaches: caches, bornAt: hit.bornAt, freshUntil: hit.freshUntil))
                }
            }
        }
        if isAnswered {
            let target = Target(unchecked: String(decoding: key.target, as: UTF8.self))
            note(EntryUses(hits: 1), of: EntryKey(partition: key.partition, target: target))
        }
        return isAnswered
    }

    func takeUse(of key: EntryKey) -> Bool { false }

    func note(_ uses: EntryUses, of key: EntryKey) {
        counts.withLock { $0[key] = $0[key, default: EntryUses()] + uses }
    }

    func uses(of key: EntryKey) -> EntryUses { counts.withLock { $0[key] ?? EntryUses() } }

    func isWorthRoom(_ key: EntryKey) -> Bool { !isFull.withLock { $0 } || uses(of: key).hits > 1 }

    func ticket(_ key: EntryKey) -> UInt64 { tickets.withLock { $0 } }

    func publish(_ hit: PreparedHit, for key: EntryKey, route: Route, ticket: UInt64) {
        guard tickets.withLock({ $0 == ticket }) else { return }
        hits.withLock { $0[Self.name(key.partition, route, key.target.text)] = hit }
    }

    func invalidate(_ key: EntryKey) {
        tickets.withLock { $0 += 1 }
        hits.withLock { hits in
            for route in [Route.resources, .files] { hits[Self.name(key.partition, route, key.target.text)] = nil }
        }
    }

    func invalidateAll() {
        tickets.withLock { $0 += 1 }
        hits.withLock { $0 = [:] }
    }
}

struct NoManagement: ManagementHandler {
    func handle(_ exchange: any Exchange, path: String, query: QueryParameters, access: Access) async throws {
        exchange.respond(ResponseHead(status: 200), body: Array("\(access)".utf8))
    }
}

/// What the hot path writes into.
struct ByteSink: ResponseSink {
    var bytes: [UInt8] = []
    mutating func append(_ bytes: UnsafeRawBufferPointer) { self.bytes += Array(bytes) }
}

/// The whole service over a store in memory, the real queue and an origin in the process.
struct ReadFixture {
    let view = DictionaryView()
    let store: MemoryStore
    let origin = ScriptedOriginPort()
    let network = SwitchedNetwork()
    let clock = ManualClock()
    let settings = SettingsBox(Settings())
    let credentials = CredentialKeeper()
    let counters: Counters
    let flights: Flights
    let service: Service<DictionaryView>

    init() {
        store = MemoryStore(view: view)
        flights = Flights(expiries: store.expiries)
        counters = Counters(view: view)
        let queue = OperationQueue(store: store, clock: clock, events: Silence(), settings: settings)
        let sum: @Sendable ([UInt8]) -> UInt64 = { bytes in
            bytes.reduce(14_695_981_039_346_656_037) { ($0 ^ UInt64($1)) &* 1_099_511_628_211 }
        }
        let context = ServiceContext(
            store: store, uploads: MemoryUploads(store: store), origin: origin, queue: queue,
            delivery: NoDelivery(), network: network, credentials: credentials, settings: settings,
            expiries: store.expiries, clock: clock,
            events: Silence(), log: Silence(),
            digest: { bytes in
                Digest(bytes: (0..<32).map { UInt8(truncatingIfNeeded: sum(bytes) >> (UInt64($0 % 8) * 8)) })
            }, hash: { PlainHash($0) },
            partitionHash: { PartitionID(high: 1, low: sum($1)) })
        service = Service(
            context: context, view: view, writes: WriteService(context: context, flights: flights),
            management: NoManagement(), counters: counters, flights: flights)
    }

    func key(_ target: String) -> EntryKey { EntryKey(partition: .none, target: Target(unchecked: target)) }

    /// Puts a server copy there that is fresh for a minute.
    func know(
        _ target: String, _ body: String, _ fields: HTTPFields = HTTPFields(), age: Double = 0, status: Int = 200
    ) async throws {
        var fields = fields
        if !fields.contains("Cache-Control") { fields["Cache-Control"] = "max-age=60" }
        if !fields.contains("Content-Type") { fields["Content-Type"] = "text/plain" }
        fields["Date"] = HTTPDate(clock.now - age).text
        let content = try await store.makeContent(Array(body.utf8), for: .copy)
        let copy = ServerCopy(
            status: status, fields: fields, content: content, requestTime: clock.now - age,
            responseTime: clock.now - age, epoch: 1)
        try await store.commit([.putCopy(key(target), copy)], durable: true)
    }

    /// The origin answers all alike.
    func originSays(_ status: Int, _ fields: HTTPFields = HTTPFields(), _ body: String = "") {
        var fields = fields
        if !fields.contains("Date") { fields["Date"] = HTTPDate(clock.now).text }
        let answer = fields
        origin.answer { (_: OriginRequest) throws(OriginError) in
            OriginResponse(status: status, fields: answer, body: PacedBody(body.isEmpty ? [] : [Array(body.utf8)]))
        }
    }

    func originFails(_ error: OriginError) {
        origin.answer { (_: OriginRequest) throws(OriginError) in throw error }
    }

    func exchange(
        _ target: String, _ fields: HTTPFields = HTTPFields(), method: HTTPMethod = .get, body: String = "",
        mayWrite: Latch = Latch(isOpen: true), leavesAfter: Int = .max
    ) -> RecordingExchange {
        var fields = fields
        if !fields.contains("Host") { fields["Host"] = "localhost:8080" }
        return RecordingExchange(
            RequestHead(method: method, target: target, fields: fields, bodyLength: Int64(body.utf8.count)),
            body: Array(body.utf8), mayWrite: mayWrite, leavesAfter: leavesAfter)
    }

    /// Starts a request.
    func start(_ exchange: RecordingExchange) -> RecordingExchange {
        service.handle(exchange)
        return exchange
    }

    /// One request and its whole answer.
    func ask(
        _ target: String, _ fields: HTTPFields = HTTPFields(), method: HTTPMethod = .get, body: String = ""
    ) async -> RecordingExchange.Answer {
        await start(exchange(target, fields, method: method, body: body)).answer()
    }

    /// The hot path; nil where it declines.
    func hot(
        _ target: String, _ fields: [(String, String)] = [("Host", "localhost:8080")], method: String = "GET"
    ) -> String? {
        var bytes: [UInt8] = []
        func slice(_ text: String) -> RawRequest.Slice {
            defer { bytes += Array(text.utf8) }
            return RawRequest.Slice(offset: UInt32(bytes.count), length: UInt32(text.utf8.count))
        }
        let method = slice(method)
        let path = slice(target)
        let slices = fields.map { RawRequest.FieldSlices(name: slice($0.0), value: slice($0.1)) }
        var sink = ByteSink()
        let isAnswered = bytes.withUnsafeBytes { bytes in
            slices.withUnsafeBufferPointer { slices in
                service.answerAtOnce(
                    RawRequest(
                        bytes: bytes, method: method, target: path, fields: slices, minorVersion: 1,
                        listener: ListenerID(rawValue: 0), now: clock.now),
                    into: &sink)
            }
        }
        if !isAnswered, !sink.bytes.isEmpty { return "a declined request must leave the sink untouched" }
        return isAnswered ? String(decoding: sink.bytes, as: UTF8.self) : nil
    }
}
