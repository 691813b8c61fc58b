import API
import CacheCore
import HTTPModel
import TestSupport

/// A write service over a store in memory, the real queue and a scripted origin.
struct WriteFixture {
    let store = MemoryStore()
    let origin = InProcessOrigin()
    let network = SwitchedNetwork()
    let clock = ManualClock()
    let settings = SettingsBox(Settings())
    let queue: OperationQueue
    let uploads: MemoryUploads
    let service: WriteService

    init() {
        queue = OperationQueue(store: store, clock: clock, events: Silence(), settings: settings)
        uploads = MemoryUploads(store: store)
        let context = ServiceContext(
            store: store, uploads: uploads, origin: origin, queue: queue, delivery: NoDelivery(), network: network,
            credentials: CredentialKeeper(), settings: settings, expiries: store.expiries, clock: clock,
            events: Silence(), log: Silence(),
            digest: MemoryStore.digest(of:), hash: { PlainHash($0) }, partitionHash: { _, _ in .none })
        service = WriteService(context: context, flights: Flights(expiries: store.expiries))
    }

    func key(_ target: String) -> EntryKey { EntryKey(partition: .none, target: Target(unchecked: target)) }

    /// Puts a server copy of JSON there.
    func know(_ target: String, _ body: String, etag: String) async throws {
        let content = try await store.makeContent(Array(body.utf8), for: .copy)
        let copy = ServerCopy(
            status: 200, fields: ["ETag": etag, "Content-Type": "application/json"], content: content,
            requestTime: clock.now, responseTime: clock.now, epoch: 1)
        try await store.commit([.putCopy(key(target), copy)], durable: true)
    }

    struct Reply {
        var status: Int
        var fields: HTTPFields
        var body: [UInt8]
        var problem: Problem?
        var wasAborted = false
        var json: JSONValue { (try? JSONValue(parsing: body)) ?? .null }
    }

    /// One write of a client; a problem that the service throws is the reply.
    func send(
        _ method: HTTPMethod, _ target: String, _ body: String = "", fields: HTTPFields = HTTPFields(),
        route: Route = .resources, policy: (inout PolicyLayer) -> Void = { _ in }, save: Bool? = nil,
        proven: Bool = true
    ) async throws -> Reply {
        var fields = fields
        if route == .resources, !body.isEmpty, !fields.contains("Content-Type") {
            fields["Content-Type"] = "application/json"
        }
        var layer = PolicyLayer()
        policy(&layer)
        let head = RequestHead(
            method: method, target: route.prefix + target, fields: fields, bodyLength: Int64(body.utf8.count))
        let request = ResourceRequest(
            head: head, route: route, key: key(target), credentials: HTTPFields(), isProven: proven,
            requestPolicy: layer, configuredPolicy: [], saveIfOffline: save, deleteIfOffline: save,
            persistentState: false, settings: settings.now, hasSecretParameter: false)
        let exchange = ClientExchange(head, body: Array(body.utf8))
        do {
            try await service.handle(request, exchange)
        } catch let problem as Problem {
            return Reply(
                status: problem.status, fields: problem.fields, body: problem.body(instance: nil), problem: problem)
        }
        let answer = exchange.answer
        return Reply(
            status: answer.head?.status ?? 0, fields: answer.head?.fields ?? HTTPFields(), body: answer.body,
            wasAborted: answer.wasAborted)
    }
}
