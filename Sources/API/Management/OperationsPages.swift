import CacheCore
import HTTPModel

/// /cache/operations and /cache/sync.
extension ManagementService {
    func operationMethods(_ path: [String]) -> Methods? {
        guard let text = path.first else { return [(.get, operations), (.delete, discardAll)] }
        let id = OperationID(text)
        switch path.dropFirst() {
        case []:
            return [
                (.get, { .json(json(try await operation(id, $0))) }),
                (.patch, { try await edit(id, $0) }), (.delete, { try await discard(id, $0) }),
            ]
        case ["body"]:
            return [
                (
                    .get,
                    {
                        let operation = try await operation(id, $0)
                        guard operation.body != nil || !operation.state.isFinal else {
                            throw Problem(.notFound, "The bytes of a finished operation are not kept.")
                        }
                        return .stored(operation.body, type: operation.fields["Content-Type"])
                    }
                )
            ]
        case ["retry"]:
            return [
                (
                    .post,
                    {
                        _ = try await unfinished(id, $0)
                        return .json(json(try await context.queue.retry(id)))
                    }
                )
            ]
        default: return nil
        }
    }

    private func operation(_ id: OperationID, _ call: ManagementCall) async throws -> Operation {
        guard let operation = try await context.store.operation(id), call.maySee(operation.partition) else {
            throw ManagementCall.notFound("operation")
        }
        return operation
    }

    private func unfinished(_ id: OperationID, _ call: ManagementCall) async throws -> Operation {
        let operation = try await operation(id, call)
        guard !operation.state.isFinal else {
            throw Problem(.notFailed, "It is \(operation.state.rawValue) already, and nothing is left to be changed.")
        }
        return operation
    }

    /// Design 9; secrets as `•`.
    func json(_ operation: Operation) -> JSONValue {
        let settings = context.settings.current
        let link = "/cache/operations/" + operation.id.text
        func time(_ seconds: Double?) -> JSONValue? { seconds.map { .string(Timestamp.format($0)) } }
        return .object(omittingNil: [
            "id": .string(operation.id.text), "kind": .string(operation.kind.rawValue),
            "method": .string(operation.method.rawValue), "target": .string(operation.target.text),
            "temporaryTarget": operation.temporaryTarget.map { .string($0.text) },
            "newTarget": operation.newTarget.map { .string($0.text) },
            "partition": .string(operation.partition.text), "state": .string(operation.state.rawValue),
            "reason": operation.reason.map { .string($0) },
            "idempotencyKey": .string(operation.idempotencyKey),
            "baseETag": operation.base.etag.map { .string($0) },
            "headers": Self.json(Secrets.redacted(operation.fields, settings: settings)),
            "createdAt": time(operation.createdAt), "finishedAt": time(operation.finishedAt),
            "attempts": JSONValue(operation.attempts), "nextAttemptAt": time(operation.nextAttemptAt),
            "lastAnswer": operation.lastAnswer.map { Self.json($0, settings) },
            "bodySize": JSONValue(operation.body?.length ?? 0),
            "dependsOn": .strings(operation.dependsOn.map(\.text)),
            "supersededBy": operation.supersededBy.map { .string($0.text) },
            "links": .object(omittingNil: [
                "operation": .string(link), "body": .string(link + "/body"),
                "entry": .string("/cache/entry?target=" + Percent.encode(operation.lane.target.text)),
                "conflict": operation.conflictID.map { .string("/cache/conflicts/" + $0) },
            ]),
        ])
    }

    /// Names as first written; several lines of one name as one value.
    static func json(_ fields: HTTPFields) -> JSONValue {
        var members: [JSONMember] = []
        for field in fields where !members.contains(where: { $0.name.equalsIgnoringASCIICase(field.name) }) {
            members.append(JSONMember(field.name, .string(fields.combined(field.name) ?? field.value)))
        }
        return .object(members)
    }

    static func json(_ answer: KeptAnswer, _ settings: Settings) -> JSONValue {
        .object(omittingNil: [
            "status": JSONValue(answer.status), "headers": json(Secrets.redacted(answer.fields, settings: settings)),
            "body": answer.content?.inline.map { .string(String(decoding: $0, as: UTF8.self)) },
        ])
    }

    @Sendable private func operations(_ call: ManagementCall) async throws -> ManagementReply {
        let states = try call.query.values("state").map { text in
            guard let state = OperationState(rawValue: text) else {
                throw Problem(
                    .badRequest,
                    "state is one of " + OperationState.allCases.map(\.rawValue).joined(separator: ", ") + ".")
            }
            return state
        }
        let page = try await context.store.operations(
            partitions: try call.visiblePartitions(), states: states.isEmpty ? nil : states,
            after: call.query["after"], limit: try call.limit())
        return ManagementCall.list(page.items.map { json($0) }, next: page.next)
    }

    /// `{"headers":{NAME: value or null},"body":…}`: named fields are set or removed, the others stay.
    private func edit(_ id: OperationID, _ call: ManagementCall) async throws -> ManagementReply {
        let old = try await unfinished(id, call)
        let value = try await call.object(["headers", "body"])
        guard old.state == .failed else { throw Problem(.notFailed, "Only a failed write can be edited.") }
        var fields: HTTPFields?
        if let headers = value["headers"] {
            guard let members = headers.members else { throw Problem(.badJSON, "headers is an object.") }
            var edited = old.fields
            for member in members {
                if !member.value.isNull {
                    guard let text = member.value.string, Self.isName(member.name), Self.isValue(text) else {
                        throw Problem(.badJSON, "“\(member.name)” is no field, or its value no field value or null.")
                    }
                    edited[member.name] = text
                } else {
                    edited.remove(member.name)
                }
            }
            fields = Secrets.replayable(edited, settings: call.settings)
        }
        var body: Content?
        if let sent = value["body"] {
            let type = (fields ?? old.fields)["Content-Type"].flatMap { MediaType($0) }
            let isText = !(type?.isJSON ?? true)
            let bytes = (isText ? sent.string.map { Array($0.utf8) } : nil) ?? sent.bytes
            body = try await context.store.makeContent(bytes, for: .operation)
        }
        return .json(json(try await context.queue.edit(id, fields: fields, body: body)))
    }

    /// A token (RFC 9110 5.6.2).
    private static func isName(_ name: String) -> Bool { !name.isEmpty && name.utf8.allSatisfy(\.isTokenByte) }

    /// No control characters, so that a value can't become another field (RFC 9110 5.5).
    private static func isValue(_ value: String) -> Bool {
        value.utf8.allSatisfy { ($0 >= 0x20 && $0 != 0x7F) || $0 == 0x09 }
    }

    private func discard(_ id: OperationID, _ call: ManagementCall) async throws -> ManagementReply {
        _ = try await unfinished(id, call)
        let discarded = try await context.queue.discard(
            id, cascade: try call.flag("cascade"), force: try call.flag("force"))
        return ManagementCall.list(discarded.map { json($0) }, next: nil)
    }

    /// How many go in one commit: writes that come meanwhile wait no longer than for that.
    private static let discardedTogether = 256

    /// The newest first, so that none is left behind one that it needs. What may be in effect already stays unless `force`.
    @Sendable private func discardAll(_ call: ManagementCall) async throws -> ManagementReply {
        let partitions = try call.visiblePartitions()
        let force = try call.flag("force")
        var waiting = try await unfinished(of: partitions).reversed().map(\.id)[...]
        var discarded = 0
        while !waiting.isEmpty {
            let page = waiting.prefix(Self.discardedTogether)
            discarded += try await context.queue.discard(Array(page), force: force).count
            waiting = waiting[page.endIndex...]
        }
        let left = try await unfinished(of: partitions)
        return .json(.object(["discarded": JSONValue(discarded), "left": JSONValue(left.count)]))
    }

    /// In the order of their acceptance.
    private func unfinished(of partitions: [PartitionID]?) async throws -> [Operation] {
        var found: [Operation] = []
        var after: String?
        repeat {
            let page = try await context.store.operations(
                partitions: partitions, states: OperationState.allCases.filter { !$0.isFinal }, after: after,
                limit: 1_000)
            found += page.items
            after = page.next
        } while after != nil
        return found.sorted { $0.sequence < $1.sequence }
    }

    /// Answers with what became of each operation that was unfinished at the call and that the caller may see.
    @Sendable func sync(_ call: ManagementCall) async throws -> ManagementReply {
        var wait = 0.0
        if let text = call.query["wait"] {
            guard let seconds = Double(text), (0...3600).contains(seconds) else {
                throw Problem(.badRequest, "wait is a number of seconds from 0 to 3600.")
            }
            wait = seconds
        }
        let ids = await context.delivery.syncNow(deadline: context.clock.now + wait)
        var items: [JSONValue] = []
        for id in ids {
            guard let operation = try await context.store.operation(id), call.maySee(operation.partition) else {
                continue
            }
            items.append(json(operation))
        }
        return .json(
            .object([
                "network": .string(context.network.state.rawValue),
                "offline": .bool(!context.network.state.isOnline),
                "suspended": .bool(context.delivery.isSuspended), "items": .array(items),
            ]))
    }
}
