import CacheCore
import HTTPModel

/// /cache/conflicts (design 6).
extension ManagementService {
    /// Versions up to this many bytes stand in the JSON, larger ones behind links.
    private static let inlineLimit: Int64 = 64 << 10

    func conflictMethods(_ path: [String]) -> Methods? {
        guard let id = path.first else { return [(.get, conflicts)] }
        switch path.dropFirst() {
        case []:
            return [
                (
                    .get,
                    {
                        let conflict = try await conflict(id, $0)
                        return .json(try await json(conflict), fields: ["ETag": Self.tag(conflict)])
                    }
                )
            ]
        case ["base"]: return [(.get, { try version(try await conflict(id, $0).base) })]
        case ["client"]: return [(.get, { try version(try await conflict(id, $0).client) })]
        case ["server"]: return [(.get, { try version(try await conflict(id, $0).server) })]
        case ["resolution"]: return [(.post, { try await resolve(id, $0) })]
        default: return nil
        }
    }

    private static func tag(_ conflict: Conflict) -> String { "\"\(conflict.id)-\(conflict.revision)\"" }

    private func conflict(_ id: String, _ call: ManagementCall) async throws -> Conflict {
        guard let conflict = try await context.store.conflict(id), call.maySee(conflict.key.partition) else {
            throw ManagementCall.notFound("conflict")
        }
        return conflict
    }

    private func version(_ version: ConflictVersion?) throws -> ManagementReply {
        guard let version, let content = version.content else { throw ManagementCall.notFound("version") }
        return .stored(content, type: version.mediaType)
    }

    @Sendable private func conflicts(_ call: ManagementCall) async throws -> ManagementReply {
        let page = try await context.store.conflicts(
            partitions: try call.visiblePartitions(), open: !(try call.flag("closed")), after: call.query["after"],
            limit: try call.limit())
        var items: [JSONValue] = []
        for conflict in page.items { items.append(try await json(conflict)) }
        return ManagementCall.list(items, next: page.next)
    }

    private func json(_ conflict: Conflict) async throws -> JSONValue {
        let link = "/cache/conflicts/" + conflict.id
        let client = try await document(conflict.client)
        let server = try await document(conflict.server)
        var differences: JSONValue?
        if let client, let server { differences = .strings(JSONDifference.pointers(between: client, server)) }
        return .object(omittingNil: [
            "id": .string(conflict.id), "kind": .string(conflict.kind.rawValue),
            "target": .string(conflict.key.target.text), "partition": .string(conflict.key.partition.text),
            "method": .string(conflict.method.rawValue),
            "operation": conflict.operationID.map { .string("/cache/operations/" + $0.text) },
            "base": json(conflict.base, try await document(conflict.base), link + "/base"),
            "client": json(conflict.client, client, link + "/client"),
            "server": json(conflict.server, server, link + "/server"),
            "serverIsLatest": .bool(conflict.serverIsLatest), "differences": differences,
            "origin": conflict.originAnswer.map { Self.json($0, context.settings.current) },
            "createdAt": .string(Timestamp.format(conflict.createdAt)),
            "closedAt": conflict.closedAt.map { .string(Timestamp.format($0)) },
            "links": .object(["conflict": .string(link), "resolution": .string(link + "/resolution")]),
        ])
    }

    /// The version as JSON, where it is JSON and small enough.
    private func document(_ version: ConflictVersion?) async throws -> JSONValue? {
        guard let version, let content = version.content, content.length <= Self.inlineLimit,
            version.mediaType.flatMap({ MediaType($0) })?.isJSON ?? false
        else { return nil }
        return try? JSONValue(parsing: try await context.store.bytes(of: content, limit: Self.inlineLimit))
    }

    private func json(_ version: ConflictVersion?, _ document: JSONValue?, _ link: String) -> JSONValue? {
        guard let version else { return nil }
        return .object(omittingNil: [
            "absent": .bool(version.isAbsent), "etag": version.etag.map { .string($0) },
            "lastModified": version.lastModified.map { .string($0) },
            "mediaType": version.mediaType.map { .string($0) },
            "size": version.content.map { JSONValue($0.length) }, "body": document,
            "link": version.content.map { _ in .string(link) },
        ])
    }

    private func resolve(_ id: String, _ call: ManagementCall) async throws -> ManagementReply {
        let conflict = try await conflict(id, call)
        let value = try await call.object(["keep", "body", "patch", "later", "mediaType"])
        guard conflict.closedAt == nil else { throw Problem(.conflict, "This conflict is resolved already.") }
        if let condition = EntityTagCondition(call.exchange.head.fields, "If-Match"),
            !condition.matchesStrongly(ETag(Self.tag(conflict)))
        {
            throw Problem(.precondition, "The conflict has changed. Read it again, then decide.")
        }
        let resolution = try await resolution(value, of: conflict)
        switch try await context.delivery.resolve(conflict, by: resolution) {
        case .resolved:
            do {
                return .json(try await entryJSON(conflict.key))
            } catch let problem as Problem where problem.code == .notFound {
                // The decision left nothing to keep: the target is gone and unknown here.
                return .json(
                    .object([
                        "target": .string(conflict.key.target.text),
                        "partition": .string(conflict.key.partition.text), "kind": "file", "state": "synced",
                        "variants": 0, "policy": .object([:]),
                    ]))
            }
        case .queued(let operation):
            return .json(json(operation), status: 202, fields: ["Sync-Operation": operation.id.text])
        case .conflictAgain(let newer):
            throw Problem(
                .conflict, "The server version has moved on. Look at it, then decide again.",
                fields: ["ETag": Self.tag(newer)],
                members: [.init("conflict", json: String(decoding: try await json(newer).bytes, as: UTF8.self))])
        }
    }

    private func resolution(_ value: JSONValue, of conflict: Conflict) async throws -> Resolution {
        if let later = value["later"], !["keep", "drop"].contains(later.string ?? "") {
            throw Problem(.badJSON, "later is \"keep\" or \"drop\".")
        }
        if value["keep"]?.string != "merged", ["body", "patch", "mediaType"].contains(where: { value[$0] != nil }) {
            throw Problem(.badJSON, "body, patch and mediaType go with \"keep\":\"merged\".")
        }
        switch value["keep"]?.string {
        case "client": return .keepClient
        case "server": return .keepServer(keepLater: value["later"]?.string == "keep")
        case "merged":
            let mediaType = value["mediaType"]?.string
            guard value["mediaType"] == nil || mediaType.flatMap({ MediaType($0) }) != nil else {
                throw Problem(.badJSON, "mediaType is a text as in Content-Type.")
            }
            switch (value["body"], value["patch"]) {
            case (let body?, nil):
                let type = (mediaType ?? conflict.client.mediaType).flatMap { MediaType($0) }
                let isText = !(type?.isJSON ?? true)
                let bytes = (isText ? body.string.map { Array($0.utf8) } : nil) ?? body.bytes
                return .merged(try await context.store.makeContent(bytes, for: .operation), mediaType: mediaType)
            case (nil, let patch?):
                guard patch.isArray || patch.isObject else {
                    throw Problem(.badJSON, "patch is an object (RFC 7396) or an array (RFC 6902).")
                }
                let type = patch.isArray ? "application/json-patch+json" : "application/merge-patch+json"
                return .patched(
                    try await context.store.makeContent(patch.bytes, for: .operation), mediaType: mediaType ?? type)
            default: throw Problem(.badJSON, "\"keep\":\"merged\" comes with either body or patch.")
            }
        default: throw Problem(.badJSON, "keep is \"client\", \"server\" or \"merged\".")
        }
    }
}
