import CacheCore
import HTTPModel

/// /cache/stores (design 11).
extension ManagementService {
    func storeMethods(_ path: [String]) -> Methods? {
        switch path.count {
        case 0: [(.get, listStores), (.post, attachStores)]
        case 1:
            [
                (.get, { try await store(path[0], $0) }), (.put, { try await change(path[0], $0) }),
                (.delete, { try await detach(path[0], $0) }),
            ]
        case 2 where path[1] == "verify": [(.post, { try await verify(path[0], $0) })]
        default: nil
        }
    }

    @Sendable private func listStores(_ call: ManagementCall) async throws -> ManagementReply {
        try call.needsFull()
        return ManagementCall.list(try await stores.stores().map { Self.json($0) }, next: nil)
    }

    private func store(_ name: String, _ call: ManagementCall) async throws -> ManagementReply {
        try call.needsFull()
        guard let found = try await stores.stores().first(where: { $0.request.name.hasSameBytes(as: name) }) else {
            throw ManagementCall.notFound("store")
        }
        return .json(Self.json(found))
    }

    /// One, or an array of them.
    @Sendable private func attachStores(_ call: ManagementCall) async throws -> ManagementReply {
        try call.needsFull()
        let json = try await call.json()
        let attached = try await stores.attach(try StoreRequest.list(json: json)).map { Self.json($0) }
        guard !json.isArray, let name = attached.first?["name"]?.string else {
            return .json(.object(["items": .array(attached)]), status: 201)
        }
        return .json(attached[0], status: 201, fields: ["Location": "/cache/stores/" + name])
    }

    private func change(_ name: String, _ call: ManagementCall) async throws -> ManagementReply {
        try call.needsFull()
        let json = try await call.object(["started", "location"])
        if let isStarted = json["started"]?.bool, json["location"] == nil {
            return .json(Self.json(try await stores.setStarted(isStarted, of: name)))
        }
        guard let location = json["location"], json["started"] == nil,
            case let (folder?, nil) = try StoreRequest.location(location)
        else {
            throw Problem(
                .badJSON,
                "Send {\"started\":true}, {\"started\":false} or {\"location\":{\"primary\":FOLDER}}. A mirror stays where it is."
            )
        }
        return .json(Self.json(try await stores.move(name, to: folder)))
    }

    /// Answers when it is done; GET of the store shows meanwhile how far it is. It goes on without the client.
    private func verify(_ name: String, _ call: ManagementCall) async throws -> ManagementReply {
        try call.needsFull()
        let stores = stores
        let found = try await Task { try await stores.compare(name, byDigest: true) { _ in } }.value
        return .json(Self.json(found))
    }

    private func detach(_ name: String, _ call: ManagementCall) async throws -> ManagementReply {
        try call.needsFull()
        try await stores.detach(name, leavingOperations: try call.flag("leave"))
        return .noContent
    }

    private static func json(_ store: StoreDescription) -> JSONValue {
        var json = store.request.json()
        json["started"] = nil
        json["status"] = .string(store.status.rawValue)
        json["maxStoreSize"] = JSONValue(store.usage.limit)
        json["sizes"] = .object([
            "copies": JSONValue(store.usage.copies), "operations": JSONValue(store.usage.operations),
        ])
        json["entries"] = JSONValue(store.usage.entries)
        json["operations"] = JSONValue(store.usage.unfinished)
        json["mirror"] = store.mirror.map { Self.json($0) }
        return json
    }

    private static func json(_ mirror: MirrorStatus) -> JSONValue {
        .object([
            "out": .strings(mirror.out.map(\.rawValue)), "behind": .bool(mirror.isBehind),
            "delivers": .bool(mirror.delivers), "comparing": .bool(mirror.isComparing),
            "done": JSONValue(mirror.done), "total": JSONValue(mirror.total), "copied": JSONValue(mirror.copied),
            "damaged": JSONValue(mirror.damaged), "failures": JSONValue(mirror.failures),
        ])
    }
}
