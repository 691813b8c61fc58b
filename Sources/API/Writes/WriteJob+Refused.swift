import CacheCore
import HTTPModel

/// Online writes that the origin refused: 409, 412, 404 and 410 (design 6).
extension WriteJob {
    private static let rounds = 3

    /// 404 or 410: the server copy is gone.
    func targetGone(_ answer: OriginAnswer, _ body: SentBody, _ outgoing: Outgoing) async throws {
        let policy = policy
        let wasKnown = entry?.copies.contains { !$0.isGone } ?? false
        if policy.conflictResolutionPolicy == .clientWins, wasKnown, body.isRepeatable,
            !outgoing.hasClientPrecondition, let whole = try await recreation(body, outgoing, round: 2)
        {
            answer.response.body.cancel()
            return try await settleLast(try await transmit(.put, whole.fields, whole.body), body)
        }
        let changes = WriteEffects.changes(
            key: key, method: method, status: answer.status, answerFields: keepable(answer.fields), answerBody: nil,
            answerBodyIsComplete: false, sentBody: nil, sentType: nil, entry: entry,
            originBase: context.origin.base, requestTime: answer.requestTime, responseTime: answer.responseTime,
            epoch: context.store.epoch, policy: policy, sentFields: request.head.fields)
        if !changes.isEmpty { try await context.store.commit(changes, durable: true) }
        if policy.conflictResolutionPolicy == .serverWins, wasKnown, method == .put || method == .patch {
            let gone = ServerSight(status: 404, fields: ["Cache-Control": "no-cache"], content: .empty)
            return try await yield(to: gone, refusal: try await keptAnswer(answer), body)
        }
        await pass(answer)
    }

    /// 409 or 412 to a write whose precondition, if any, was ours.
    func refused(_ answer: OriginAnswer, _ body: SentBody, _ outgoing: Outgoing) async throws {
        let originAnswer = try await keptAnswer(answer)
        // A POST is never repeated, and a client's own precondition is not overridden.
        if method == .post || outgoing.hasClientPrecondition {
            throw try await preserve(
                originAnswer, body, server: await fetchServer(), kind: method == .post ? .refused : nil)
        }
        switch policy.conflictResolutionPolicy {
        case .clientWins: try await overwrite(originAnswer, body, outgoing)
        case .serverWins: try await yieldToServer(originAnswer, body)
        case .preserveConflict:
            let server = await fetchServer()
            if method == .delete, let server, server.isGone { return try await passGone(server) }
            throw try await preserve(originAnswer, body, server: server)
        }
    }

    /// CLIENT_WINS: repeated with the tag of a fresh GET, then preserved.
    private func overwrite(_ refusal: KeptAnswer, _ body: SentBody, _ outgoing: Outgoing) async throws {
        var refusal = refusal
        var server: ServerSight?
        for round in 2..<(2 + Self.rounds) where body.isRepeatable {
            server = await fetchServer()
            guard let sight = server else { break }
            if sight.isGone, method == .delete { return try await passGone(sight) }
            if sight.isGone {
                guard let whole = try await recreation(body, outgoing, round: round) else { break }
                return try await settleLast(try await transmit(.put, whole.fields, whole.body), body)
            }
            var fields = outgoing.fields
            for name in ["If-Match", "If-None-Match", "If-Unmodified-Since"] { fields.remove(name) }
            if let tag = sight.fields.etag, tag.isStrong {
                fields["If-Match"] = tag.text
            } else if let modified = sight.fields["Last-Modified"] {
                fields["If-Unmodified-Since"] = modified
            }
            // Another precondition is another request (design 5, "Idempotency-Key").
            fields["Idempotency-Key"] = clientKey.map { "\($0).\(round)" }
            let sent = try await transmit(method, fields, body)
            guard case .answer(let answer) = sent, answer.status == 409 || answer.status == 412 else {
                return try await settleLast(sent, body)
            }
            refusal = try await keptAnswer(answer)
        }
        throw try await preserve(refusal, body, server: server)
    }

    /// What is put where nothing is any more: the bytes of a PUT, or what a PATCH makes of the copy known here. nil where there is no
    /// such thing.
    private func recreation(
        _ body: SentBody, _ outgoing: Outgoing, round: Int
    ) async throws -> (fields: HTTPFields, body: SentBody)? {
        var fields = outgoing.fields
        for name in ["If-Match", "If-Unmodified-Since"] { fields.remove(name) }
        fields["If-None-Match"] = "*"
        fields["Idempotency-Key"] = clientKey.map { "\($0).\(round)" }
        if method == .put { return (fields, body) }
        guard method == .patch else { return nil }
        let version = try await clientVersion(body, server: nil)
        guard let content = version.content else { return nil }
        // These described the patch.
        for name in DigestFields.names + ["Content-Encoding"] { fields.remove(name) }
        fields["Content-Type"] = version.mediaType ?? "application/json"
        return (fields, .stored(content))
    }

    /// What a repetition led to; a refusal is given as it is.
    private func settleLast(_ sent: Transmission, _ body: SentBody) async throws {
        switch sent {
        case .notSent: try await queueOffline(body)
        case .unknown: throw try await outcomeUnknown(body)
        case .answer(let answer) where (200...399).contains(answer.status): try await applied(answer, body)
        case .answer(let answer) where answer.status == 409 || answer.status == 412:
            throw try await preserve(try await keptAnswer(answer), body, server: await fetchServer())
        case .answer(let answer): await pass(answer)
        }
    }

    /// SERVER_WINS: the server's version, where it can be read, is the answer.
    private func yieldToServer(_ refusal: KeptAnswer, _ body: SentBody) async throws {
        guard let server = await fetchServer() else {
            throw try await preserve(refusal, body, server: nil)
        }
        if server.isGone, method == .delete { return try await passGone(server) }
        try await yield(to: server, refusal: refusal, body)
    }

    /// The edit is dropped; it stays readable in the records of a final operation and its closed conflict.
    private func yield(to server: ServerSight, refusal: KeptAnswer, _ body: SentBody) async throws {
        var fields = server.fields
        fields["Sync-Outcome"] = "server-wins"
        if !isForbiddenToKeep {
            let dropped = try await context.queue.recordDropped(
                draft(.edit, body: nil, fingerprint: body.isRepeatable ? try fingerprint(of: body) : Digest(bytes: [])),
                conflict: try await conflict(refusal, body, server: server, kind: nil))
            fields["Sync-Operation"] = dropped.id.text
        }
        try await send(server.isGone ? 404 : 200, fields, server.content, syncState: "synced")
    }

    private func passGone(_ server: ServerSight) async throws {
        try await send(server.status, server.fields, server.content, syncState: nil)
    }

    private func keptAnswer(_ answer: OriginAnswer) async throws -> KeptAnswer {
        let content: Content?
        do {
            content = try await store(answer.response.body, for: .operation)
        } catch is OriginError {
            // The refusal stands, whatever its text would have said.
            content = nil
        }
        return KeptAnswer(status: answer.status, fields: Validation.stripped(keepable(answer.fields)), content: content)
    }

    /// PRESERVE_CONFLICT: all versions are kept; the problem to answer with.
    private func preserve(
        _ refusal: KeptAnswer, _ body: SentBody, server: ServerSight?, kind: ConflictKind? = nil
    ) async throws -> Problem {
        let conflict = try await conflict(refusal, body, server: server, kind: kind)
        if isForbiddenToKeep {
            let problem = Problem(
                .conflict, "The origin has another version. Nothing of this write was kept.", status: refusal.status,
                members: [try await originMember(refusal)])
            if let record = try await record(of: problem, body) {
                try await context.store.commit([.putKeyRecord(record)], durable: true)
            }
            return problem
        }
        if server == nil { try await context.store.commit([.expire(key)], durable: true) }
        let problem = try await problem(for: conflict, status: refusal.status, operation: nil)
        try await context.queue.record(conflict, with: try await record(of: problem, body))
        return problem
    }

    /// What a repeat gets: executed again it would be sent onto the version that has refused it, and overwrite that. A POST overwrites
    /// nothing.
    private func record(of problem: Problem, _ body: SentBody) async throws -> KeyRecord? {
        guard clientKey != nil, method != .post else { return nil }
        let path = Substring(exchange.head.target.utf8.prefix { $0 != UInt8(ascii: "?") })
        let content = try await context.store.makeContent(
            problem.body(instance: String(path)), for: .operation, at: key.target)
        let fields: HTTPFields = ["Content-Type": "application/problem+json", "Cache-Control": "no-store"]
        return try keyRecord(KeptAnswer(status: problem.status, fields: fields, content: content), body)
    }

    private func conflict(
        _ refusal: KeptAnswer, _ body: SentBody, server: ServerSight?, kind: ConflictKind?
    ) async throws -> Conflict {
        let client = try await clientVersion(body, server: server)
        let base = base
        return Conflict(
            id: IDs.record(now: context.clock.now), key: key,
            kind: kind ?? (server?.isGone ?? false ? .deletedAtOrigin : .edited), operationID: nil, method: method,
            fields: Secrets.replayable(request.head.fields, settings: request.settings),
            base: base == .unknown
                ? nil
                : ConflictVersion(
                    etag: base.etag, lastModified: base.lastModified, mediaType: base.mediaType, content: base.content),
            client: client, server: server?.version, serverIsLatest: server != nil, originAnswer: refusal,
            policy: policy, createdAt: context.clock.now)
    }

    /// What the client wanted there to be: for a PATCH the patched base, or the patched server version where none was known.
    private func clientVersion(_ body: SentBody, server: ServerSight?) async throws -> ConflictVersion {
        guard method != .delete else { return ConflictVersion(isAbsent: true) }
        guard !isForbiddenToKeep, body.isRepeatable else {
            return ConflictVersion(mediaType: request.head.fields["Content-Type"])
        }
        let content = try await kept(body)
        let type = request.head.fields["Content-Type"]
        guard method == .patch, let content else { return ConflictVersion(mediaType: type, content: content) }
        let limit = request.settings.maxJSONSize
        let document = baseCopy?.content ?? (server?.isGone ?? true ? nil : server?.content)
        guard let document, let format = type.flatMap({ MediaType($0)?.essence }),
            let patch = try? JSONValue(parsing: await context.store.bytes(of: content, limit: limit)),
            let before = try? JSONValue(parsing: await context.store.bytes(of: document, limit: limit))
        else { return ConflictVersion(mediaType: type) }
        let after: JSONValue? =
            switch format {
            case "application/merge-patch+json": JSONMergePatch.apply(patch, to: before)
            case "application/json-patch+json": try? JSONPatch(patch).apply(to: before)
            default: nil
            }
        guard let after else { return ConflictVersion(mediaType: type) }
        return ConflictVersion(
            mediaType: baseCopy?.fields["Content-Type"] ?? server?.fields["Content-Type"],
            content: try await context.store.makeContent(after.bytes, for: .operation, at: key.target))
    }
}
