import CacheCore
import HTTPModel

/// Accepting writes into the queue, and answering for them (design 4, 5).
extension WriteJob {
    /// Why the write may not be queued; nil where it may. `policy`: the one in force, with the flag only while offline.
    func refusal(_ policy: Policy) -> Problem? {
        let reason: String? =
            if policy.updatePolicy == .updateIfOnline {
                "The update policy asks for the origin itself."
            } else if isForbiddenToKeep {
                "Nothing of this write may be kept."
            } else if isPart {
                "A part (Content-Range) is not queued."
            } else if method == .post, policy.post == .never {
                "A POST here is never queued."
            } else {
                nil
            }
        return reason.map {
            Problem(
                .offlineUpdateRejected, $0 + " Send it again when the origin is reachable.",
                fields: ["Retry-After": "1"])
        }
    }

    /// Whether the body is a part of the target's, which only the origin can put in its place (RFC 9110 14.5).
    var isPart: Bool { request.head.fields.contains("Content-Range") }

    /// The policy of the offline column.
    var offlinePolicy: Policy { request.policy(entry: entry, offline: true) }

    /// The offline column.
    func queueOffline(
        _ body: SentBody, state: OperationState = .pending, notBefore: Double? = nil
    ) async throws {
        let kind = try await kind()
        if let refusal = refusal(offlinePolicy) { throw refusal }
        try checkContentType()
        let operation = try await accept(body, kind, state: state, notBefore: notBefore)
        try await answer(for: operation, deadline: preferences.wait.map { context.clock.now + $0 })
    }

    /// A repeat after 504 `outcome-unknown`: the queue looks first whether it took effect.
    @inline(never)
    func queueAgain(_ body: SentBody, after record: KeyRecord) async throws {
        let kind = try await kind()
        let isOnline = context.network.state.isOnline
        if let refusal = refusal(isOnline ? policy : offlinePolicy) { throw refusal }
        let operation = try await accept(body, kind, state: .unknown, base: record.base)
        try await answerOnceSent(operation, isOnline: isOnline)
    }

    /// A repeat of what has stopped: that is tried again as itself, with all that was merged into it.
    @inline(never)
    func tryAgain(_ stopped: Operation) async throws {
        try checkIsThere()
        let isOnline = context.network.state.isOnline
        if request.isProven { context.credentials.offered(request.credentials, for: key.partition) }
        try await answerOnceSent(try await context.queue.tryAgain(stopped), isOnline: isOnline)
    }

    private func answerOnceSent(_ operation: Operation, isOnline: Bool) async throws {
        let wait = isOnline ? laneWait : preferences.wait
        try await answer(for: operation, deadline: wait.map { context.clock.now + $0 })
    }

    /// Behind a lane while online: the origin's own answer when the turn comes in time, else 202, or 503 with nothing kept.
    func takePlace(_ body: SentBody, _ kind: OperationKind, deadline: Double) async throws {
        if let refusal = refusal(policy) {
            // Where it may not be queued it waits in its connection; queued and taken back, it might take with it what it was
            // merged into.
            guard context.clock.now < deadline else { throw refusal }
            turn?.pass()
            try await waitForLane(body, deadline: deadline, or: refusal)
            return try await perform(body, deadline: deadline)
        }
        let operation = try await accept(body, kind, state: .pending)
        try await answer(for: operation, deadline: deadline)
    }

    private func waitForLane(_ body: SentBody, deadline: Double, or refusal: Problem) async throws {
        while context.queue.lane(of: key) != .empty || namesTemporaryTarget(body) {
            let now = context.clock.now
            guard now < deadline else { throw refusal }
            if let edit = context.queue.localEdit(of: key) {
                let operation = await context.queue.outcome(of: edit.operation, deadline: deadline)
                if operation?.state.isStopped ?? false { throw refusal }
            } else {
                await context.clock.sleep(until: min(deadline, now + 0.05))
            }
        }
    }

    /// Queues.
    private func accept(
        _ body: SentBody, _ kind: OperationKind, state: OperationState, base: Base? = nil,
        notBefore: Double? = nil
    ) async throws -> Operation {
        var draft = try draft(kind, of: try await kept(body), state: state, base: base)
        draft.notBefore = notBefore
        let operation = try await context.queue.accept(draft)
        if let upload { await upload.use(under: clientKey, in: context) }
        return operation
    }

    private func draft(
        _ kind: OperationKind, of content: Content?, state: OperationState, base: Base?
    ) throws -> WriteDraft {
        if method == .patch, let content, content.length > request.settings.maxJSONSize {
            throw Problem(.tooLarge, "A patch has at most \(request.settings.maxJSONSize) bytes (maxJSONSize).")
        }
        // What is kept has its digest, one that was streamed only now.
        let fingerprint = try fingerprint(of: content.map { .stored($0) } ?? .none)
        if request.isProven { context.credentials.offered(request.credentials, for: key.partition) }
        var draft = draft(kind, body: content, fingerprint: fingerprint)
        draft.initialState = state
        draft.base = base
        return draft
    }

    /// The write as the queue keeps it.
    func draft(_ kind: OperationKind, body: Content?, fingerprint: Digest) -> WriteDraft {
        WriteDraft(
            key: key, route: request.route, method: method, kind: kind,
            fields: Secrets.replayable(request.head.fields, settings: request.settings), body: body,
            precondition: clientPrecondition, policy: policy, keptPolicy: keptPolicy, idempotencyKey: clientKey,
            fingerprint: fingerprint, place: request.place)
    }

    /// The body as the store's; nil where there is none.
    func kept(_ body: SentBody) async throws -> Content? {
        switch body {
        case .none: return nil
        case .bytes(let bytes): return try await context.store.makeContent(bytes, for: .operation, at: key.target)
        case .stored(let content): return content
        case .stream(let source):
            guard !source.wasPulled else {
                throw Problem(.offline, "The origin went away during the transfer. Send the write again.")
            }
            return try await reader.keep(source)
        }
    }

    /// The client's own precondition, as sent.
    var clientPrecondition: Precondition {
        let fields = request.head.fields
        if let tags = fields.combined("If-Match") { return .ifMatch(tags) }
        if let tags = fields.combined("If-None-Match") { return .ifNoneMatch(tags) }
        if let date = fields["If-Unmodified-Since"] { return .ifUnmodifiedSince(date) }
        return .none
    }

    /// All of Sync-Policy but fetch-policy stays with the entry (design 2).
    private var keptPolicy: PolicyLayer? {
        var sent = request.requestPolicy
        sent.fetchPolicy = nil
        return sent.isEmpty ? nil : sent
    }

    /// Keeps it with an entry that the origin itself has written.
    func policyChange(on key: EntryKey) -> StoreChange? {
        guard let sent = keptPolicy else { return nil }
        var layer = entry?.policy ?? PolicyLayer()
        layer.take(sent)
        return .setPolicy(key, layer)
    }
}
