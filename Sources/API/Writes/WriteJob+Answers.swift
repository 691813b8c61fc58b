import CacheCore
import HTTPModel

/// Answers for queued writes: the receipt, the effective copy, or what the origin said (design 4).
extension WriteJob {
    /// Reads come here only where the cache is not to handle them.
    private var forwarded: CacheStatus { .forward(method == .get || method == .head ? .bypass : .method) }

    /// `fwd` is for what went to the origin (RFC 9211 2.2).
    private func status(of operation: Operation) -> CacheStatus {
        operation.wasSent ? forwarded : CacheStatus(detail: "QUEUED")
    }

    /// `deadline` (seconds since 1970): until then the outcome is waited for; nil answers at once.
    func answer(for operation: Operation, deadline: Double?) async throws {
        // Whoever waits for delivery must not hold it up.
        turn?.pass()
        var latest = operation
        if let deadline {
            latest = await context.queue.outcome(of: operation.id, deadline: deadline) ?? operation
            if latest.state == .delivered || latest.state.isStopped, let kept = latest.lastAnswer {
                if latest.state == .conflict, let id = latest.conflictID,
                    let conflict = try await context.store.conflict(id)
                {
                    throw try await problem(for: conflict, status: kept.status, operation: latest)
                }
                return try await send(kept, operation: latest, status(of: latest))
            }
        }
        var fields: HTTPFields = ["Sync-Operation": latest.id.text]
        if latest.reason == Reason.serverWins { fields["Sync-Outcome"] = "server-wins" }
        if let temporary = latest.temporaryTarget, !latest.state.isFinal {
            fields["Location"] = originURL(of: temporary)
        }
        let edit = context.queue.localEdit(of: latest.lane)
        let cacheStatus = status(of: latest)
        switch preferences.returns {
        case .minimal:
            fields["Preference-Applied"] = "return=minimal"
            respond(202, fields, syncState: edit?.syncState, cacheStatus, body: [])
        case .representation, nil:
            if preferences.returns == .representation, let edit, let content = edit.content {
                var shown = fields
                shown["Preference-Applied"] = "return=representation"
                shown["Content-Location"] = originURL(of: latest.lane.target)
                shown["ETag"] = edit.tag
                shown["Content-Type"] = edit.mediaType
                shown["Content-Encoding"] = edit.coding
                do throws(StoreError) {
                    return try await send(202, shown, content, syncState: edit.syncState, cacheStatus)
                } catch {
                    // Accepted is accepted: bytes that can't be read just now must not say otherwise.
                    context.log.write(.warning, "what was written could not be shown", [("operation", latest.id.text)])
                }
            }
            fields["Content-Type"] = "application/json"
            respond(
                202, fields, syncState: edit?.syncState, cacheStatus,
                body: receipt(of: latest, syncState: edit?.syncState))
        }
    }

    /// As the origin would say it: the answer's head makes it `/resources/…` or `/files/…`.
    private func originURL(of target: Target) -> String {
        URLReference.url(of: target.text, under: context.origin.base)
    }

    /// Design 4, "Receipt".
    private func receipt(of operation: Operation, syncState: String?) -> [UInt8] {
        let target = operation.lane.target
        var json = JSONWriter(capacity: 512)
        json.beginObject()
        json.member("id", operation.id.text)
        json.member("state", operation.state.rawValue)
        json.member("method", operation.method.rawValue)
        json.member("target", target.text)
        // The key of this very request, where it was merged under another.
        json.member("idempotencyKey", clientKey ?? operation.idempotencyKey)
        json.member("syncState", syncState)
        json.member("createdAt", Timestamp.format(operation.createdAt))
        json.key("links")
        json.beginObject()
        json.member("operation", "/cache/operations/" + operation.id.text)
        json.member("entry", "/cache/entry?target=" + Percent.encode(target.text))
        json.member("conflict", operation.conflictID.map { "/cache/conflicts/" + $0 })
        json.endObject()
        json.endObject()
        return json.bytes
    }

    /// The answer that a repeat gets again.
    func replay(_ kept: KeptAnswer, _ operation: Operation?) async throws {
        var kept = kept
        kept.fields["Idempotency-Replayed"] = "true"
        try await send(kept, operation: operation, CacheStatus(detail: "REPLAYED"))
    }

    private func send(_ kept: KeptAnswer, operation: Operation?, _ cacheStatus: CacheStatus) async throws {
        var fields = kept.fields
        fields["Sync-Operation"] = operation?.id.text
        let state =
            if let operation {
                context.queue.localEdit(of: operation.lane)?.syncState ?? "synced"
            } else {
                // What a conflict was answered with does not tell how the entry stands by now.
                kept.status < 400 ? nil : context.queue.syncState(of: key)
            }
        try await send(kept.status, fields, kept.content ?? .empty, syncState: state, cacheStatus)
    }

    func send(
        _ status: Int, _ fields: HTTPFields, _ content: Content, syncState: String?,
        _ cacheStatus: CacheStatus? = nil
    ) async throws(StoreError) {
        if let bytes = content.inline { return respond(status, fields, syncState: syncState, cacheStatus, body: bytes) }
        let source = try await context.store.read(content, range: nil)
        turn?.pass()
        exchange.begin(head(status, fields, syncState: syncState, cacheStatus), length: content.length)
        await relay([], source)
    }

    private func respond(
        _ status: Int, _ fields: HTTPFields, syncState: String?, _ cacheStatus: CacheStatus?, body: [UInt8]
    ) {
        exchange.respond(head(status, fields, syncState: syncState, cacheStatus), body: body)
    }

    func head(
        _ status: Int, _ fields: HTTPFields, syncState: String?, _ cacheStatus: CacheStatus? = nil
    ) -> ResponseHead {
        answers.head(status: status, fields: fields, cacheStatus: cacheStatus ?? forwarded, syncState: syncState)
    }

    /// Carries the rest of a begun answer; breaks the connection off where it is cut.
    func relay(_ ahead: [[UInt8]], _ source: any BodySource) async {
        // What the write changes is stored by now: the next of the resource need not wait for a slow reader.
        turn?.pass()
        do {
            for piece in ahead { try await exchange.write(piece) }
            while let piece = try await source.next() { try await exchange.write(piece) }
        } catch {
            source.cancel()
            exchange.abort()
            return
        }
        exchange.finish()
    }
}
