import CacheCore
import HTTPModel

/// The online column of design 4.
extension WriteJob {
    /// What is sent with the write: fields with precondition, and the guard where there is one.
    struct Outgoing: Sendable {
        var fields: HTTPFields
        /// The tag that the guard named.
        var guardTag: String?
        var hasClientPrecondition: Bool
    }

    /// The copy that an edit without precondition starts from: the newest without content coding. One that was expired by us
    /// tells nothing of the version that the origin has.
    var baseCopy: ServerCopy? {
        entry?.copies.first { !$0.isGone && !$0.isExpired && !$0.fields.contains("Content-Encoding") }
            ?? entry?.copies.first { !$0.isGone && !$0.isExpired }
    }

    var base: Base {
        guard let copy = baseCopy else { return .unknown }
        return Base(
            etag: copy.etag, lastModified: copy.lastModified, mediaType: copy.fields["Content-Type"],
            content: copy.content)
    }

    func sendNow(_ body: SentBody) async throws {
        let outgoing = try await outgoing()
        var sent = try await transmit(method, outgoing.fields, body)
        if case .answer(let answer) = sent, answer.status == 412, body.isRepeatable,
            let plain = outgoing.guardTag.flatMap(EncodedTag.plain)
        {
            // Servers that decorate tags for a coding compare the plain one (design 6).
            answer.response.body.cancel()
            var fields = outgoing.fields
            fields["If-Match"] = plain
            sent = try await transmit(method, fields, body)
        }
        try await settle(sent, body, outgoing)
    }

    /// Answers by what came of sending.
    private func settle(_ sent: Transmission, _ body: SentBody, _ outgoing: Outgoing) async throws {
        switch sent {
        case .notSent: try await queueOffline(body)
        case .unknown: throw try await outcomeUnknown(body)
        case .answer(let answer):
            if policy.queueOnStatus.contains(answer.status), body.isRepeatable,
                refusal(offlinePolicy) == nil
            {
                answer.response.body.cancel()
                let isUnknown = answer.status == 502 || answer.status == 504
                let now = context.clock.now
                return try await queueOffline(
                    body, state: isUnknown ? .unknown : .pending,
                    notBefore: RetryAfter.seconds(in: answer.fields, now: now).map { now + $0 })
            }
            switch answer.status {
            case 200...399: try await applied(answer, body)
            case 404, 410: try await targetGone(answer, body, outgoing)
            case 412 where outgoing.hasClientPrecondition: await pass(answer)
            case 409, 412: try await refused(answer, body, outgoing)
            default: await pass(answer)
            }
        }
    }

    private func outgoing() async throws -> Outgoing {
        var fields = request.originFields
        for name in ["If-Match", "If-None-Match"] {
            guard let value = fields.combined(name), value.hasBytes(of: "\"hf-") else { continue }
            fields[name] = try await translated(value)
        }
        let hasOwn = ["If-Match", "If-None-Match", "If-Unmodified-Since"].contains { fields.contains($0) }
        var outgoing = Outgoing(fields: fields, guardTag: nil, hasClientPrecondition: hasOwn)
        let policy = policy
        guard !hasOwn, method != .post, policy.guardsWrites, policy.conflictResolutionPolicy != .clientWins,
            let copy = baseCopy
        else { return outgoing }
        if let tag = copy.fields.etag, tag.isStrong {
            outgoing.fields["If-Match"] = tag.text
            outgoing.guardTag = tag.text
        } else if let modified = copy.lastModified {
            outgoing.fields["If-Unmodified-Since"] = modified
        }
        return outgoing
    }

    /// Tags of Holdfast's own never reach the origin (design 3).
    private func translated(_ value: String) async throws -> String {
        guard case .tags(let tags) = EntityTagCondition(value) else { return value }
        var known: [String] = []
        for tag in tags {
            guard tag.opaque.utf8.starts(with: "\"hf-".utf8) else {
                known.append(tag.text)
                continue
            }
            var server = await context.queue.serverTag(forDelivered: String(tag.opaque), of: key)
            if server == nil, original.key != key {
                server = await context.queue.serverTag(forDelivered: String(tag.opaque), of: original.key)
            }
            guard let server else {
                throw Problem(.precondition, "The tag names no version that the origin has. Read the resource again.")
            }
            known.append(server)
        }
        return known.joined(separator: ", ")
    }

    /// No answer came: nothing is queued, what is stored is no longer trusted, and the key remembers (design 4, 5).
    func outcomeUnknown(_ body: SentBody) async throws -> Problem {
        var changes: [StoreChange] = [.expire(key)]
        if let record = try keyRecord(nil, body) { changes.append(.putKeyRecord(record)) }
        do {
            try await context.store.commit(changes, durable: true)
        } catch {
            // That the store fails must not hide that the write may be in effect.
            context.log.write(.error, "an unknown outcome could not be stored", [])
        }
        return Problem(
            .outcomeUnknown,
            clientKey == nil
                ? "The write was sent and no answer came. Read the resource to see whether it took effect."
                : "The write was sent and no answer came. Send it again with the same Idempotency-Key.")
    }

    func keyRecord(_ answer: KeptAnswer?, _ body: SentBody) throws -> KeyRecord? {
        guard let clientKey else { return nil }
        return KeyRecord(
            partition: key.partition, key: clientKey, fingerprint: try fingerprint(of: body), method: method,
            target: request.target, answer: answer, base: base, at: context.clock.now)
    }

    /// The origin's answer as it is, streamed.
    func pass(_ answer: OriginAnswer) async {
        let length = answer.fields["Content-Length"].flatMap { Int64($0) }
        let head = head(answer.status, answer.fields, syncState: nil)
        if answer.status == 204 || answer.status == 304 || length == 0 {
            answer.response.body.cancel()
            return exchange.respond(head, body: [])
        }
        exchange.begin(head, length: length)
        await relay([], answer.response.body)
    }
}
