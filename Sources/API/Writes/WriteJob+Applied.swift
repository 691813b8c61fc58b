import CacheCore
import HTTPModel

/// Writes that the origin took.
extension WriteJob {
    /// The beginning of an answer's body.
    private enum Beginning {
        case whole([UInt8])
        /// More follows.
        case part([[UInt8]])
        /// It was cut off.
        case cut([[UInt8]])
    }

    /// Answers whose body is longer are passed on without being kept.
    private static let keptLimit = 1 << 20

    /// 2xx and 3xx: the store is changed durably, then the origin's answer is given.
    func applied(_ answer: OriginAnswer, _ body: SentBody) async throws {
        let beginning = await begin(answer)
        var isSynced = false
        do {
            isSynced = try await keep(answer, beginning, body)
        } catch {
            // The write is in effect: its answer must not say otherwise. The old copy is at least no longer trusted.
            context.log.write(.error, "the effects of a write could not be stored", [])
            try? await context.store.commit([.expire(key)], durable: false)
        }
        await upload?.use(under: clientKey, in: context)
        let head = head(answer.status, answer.fields, syncState: isSynced ? "synced" : nil)
        let length = answer.fields["Content-Length"].flatMap { Int64($0) }
        switch beginning {
        case .whole(let bytes): exchange.respond(head, body: bytes)
        case .part(let pieces):
            exchange.begin(head, length: length)
            await relay(pieces, answer.response.body)
        case .cut(let pieces):
            exchange.begin(head, length: length)
            for piece in pieces { try? await exchange.write(piece) }
            exchange.abort()
        }
    }

    private func begin(_ answer: OriginAnswer) async -> Beginning {
        let source = answer.response.body
        var pieces: [[UInt8]] = []
        var count = 0
        do {
            while count <= Self.keptLimit {
                guard let piece = try await source.next() else {
                    let bytes = Array(pieces.joined())
                    return isRefuted(bytes, by: answer.fields) ? .cut(pieces) : .whole(bytes)
                }
                pieces.append(piece)
                count += piece.count
            }
            return .part(pieces)
        } catch {
            return .cut(pieces)
        }
    }

    /// Whether a digest that the answer states readably is another body's (RFC 9530): it is then as good as cut.
    private func isRefuted(_ bytes: [UInt8], by fields: HTTPFields) -> Bool {
        guard let check = try? DigestCheck(fields, context.hash) else { return false }
        check.update(bytes)
        return !check.holds()
    }

    private func isShown(_ body: SentBody, in answer: [UInt8]) -> Bool {
        guard method == .put || method == .patch, let sent = body.inMemory else { return false }
        return EditTrace.isLeft(by: method, type: request.head.fields["Content-Type"], sent: sent, in: answer)
    }

    /// Whether the server copy now is what the write proved.
    private func keep(_ answer: OriginAnswer, _ beginning: Beginning, _ body: SentBody) async throws -> Bool {
        var content: Content?
        var isComplete = false
        var showsEdit = false
        if case .whole(let bytes) = beginning {
            isComplete = true
            // Without a tag it is not asked for: both bodies would be parsed in vain.
            showsEdit = answer.fields.etag != nil && isShown(body, in: bytes)
            if !bytes.isEmpty, !isForbiddenToKeep || clientKey != nil {
                content = try await context.store.makeContent(bytes, for: .copy, at: key.target)
            } else if !bytes.isEmpty {
                isComplete = false
            }
        }
        let isEmpty = isComplete && content == nil
        var sent: Content?
        let isProof = isEmpty && answer.fields.etag?.isStrong ?? false
        let isKnown = entry?.copies.contains { !$0.isGone } ?? false
        if method == .put, isProof || isKnown, !isForbiddenToKeep, !isPart,
            !request.head.fields.contains("Content-Encoding")
        {
            switch body {
            case .none: sent = .empty
            case .bytes(let bytes): sent = try await context.store.makeContent(bytes, for: .copy, at: key.target)
            case .stored(let content): sent = content
            case .stream: break
            }
        }
        let mayKeep = isComplete && !isForbiddenToKeep
        var changes = WriteEffects.changes(
            key: key, method: method, status: answer.status, answerFields: keepable(answer.fields),
            // Nothing known of the body is not the same as a body that is empty.
            answerBody: content ?? (isEmpty ? nil : .empty), answerBodyIsComplete: mayKeep,
            answerShowsEdit: showsEdit, sentBody: sent, sentType: request.head.fields["Content-Type"],
            entry: entry, originBase: context.origin.base, requestTime: answer.requestTime,
            responseTime: answer.responseTime, epoch: context.store.epoch, policy: policy,
            sentFields: request.head.fields, targetedFields: request.settings.targetedFields)
        let isSuccess = (200...299).contains(answer.status)
        if let change = policyChange(on: key), !isForbiddenToKeep { changes.append(change) }
        if isSuccess {
            var record: KeptAnswer?
            if case .cut = beginning {
            } else {
                record = KeptAnswer(
                    status: answer.status,
                    fields: Validation.stripped(keepable(answer.fields)), content: content)
            }
            if let record = try keyRecord(record, body) { changes.append(.putKeyRecord(record)) }
        }
        try await context.store.commit(changes, durable: true)
        if isSuccess {
            try await context.queue.onlineWriteSucceeded(on: key)
            context.events.emit(.entry(key, state: "synced", deleted: method == .delete))
        }
        return changes.contains { if case .putCopy(key, let copy) = $0 { !copy.isExpired } else { false } }
    }
}
