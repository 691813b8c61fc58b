package import CacheCore
import HTTPModel

/// Resolves one conflict once (design 6): reads the server version afresh, and where it is the one that the conflict shows makes
/// the decision so at the origin, on the condition that this version is still there. Another one has been seen by nobody who
/// decides: the conflict takes it in, to be decided anew.
package struct Resolver: Sendable {
    private let context: DeliveryContext
    private let conflict: Conflict
    private let courier: Courier
    private let lookout: Lookout

    package init(_ conflict: Conflict, context: DeliveryContext) {
        self.context = context
        self.conflict = conflict
        courier = Courier(context)
        lookout = Lookout(context)
    }

    /// Throws `Problem`.
    package func resolve(by resolution: Resolution) async throws -> ResolutionOutcome {
        let server: Sighting
        switch await context.network.state.isOnline ? look() : .unreachable {
        case .unreachable: return try await whileOffline(resolution)
        case .notNow: throw Problem(.originTimeout, "The server version can't be read now. Try again.")
        case .noCredential:
            throw Problem(.credentialUnproven, "Send a credential that the origin accepts with any request first.")
        case .unreadable(let status):
            throw Problem(.badAnswer, "The origin answered \(status) when asked for the server version.")
        case .seen(let sighting):
            server = sighting
            try await context.store.commit(copies(of: sighting), durable: false)
        }
        if case .keepServer(let keepLater) = resolution { return try await keepServer(server, keepLater: keepLater) }
        guard conflict.kind != .refused else {
            throw Problem(.conflict, "A refused POST is not sent again. Keep the server version, and make a new POST.")
        }
        // Nothing is overwritten where there is nothing.
        guard shows(server) || (server.isGone && conflict.client.isAbsent) else {
            return try await again(with: server)
        }
        let write = try await Self.write(resolution, of: conflict, server: server.version, context: context)
        // The edits behind it go on from the decision, which is delivered before them.
        if hasLaterEdits {
            return .queued(try await queue(write, onto: server.version, as: context.makeID(), in: .pending))
        }
        return try await send(write, server: server)
    }

    private var hasLaterEdits: Bool {
        let stopped = conflict.operationID.flatMap { context.queue.operation($0) }
        return stopped.flatMap { context.queue.nextEdit(after: $0) } != nil
    }

    private func look() async -> LookResult {
        await lookout.look(
            at: conflict.key.target, fields: conflict.fields, partition: conflict.key.partition,
            expectsJSON: conflict.client.mediaType.flatMap { MediaType($0)?.isJSON } ?? false)
    }

    /// Whether the conflict shows the version that was found at the origin.
    private func shows(_ found: Sighting) -> Bool {
        guard let shown = conflict.server, shown.isAbsent == found.isGone else { return false }
        return found.isGone || Verifier.isStillBase(shown.base, found)
    }

    // MARK: Online

    private func keepServer(_ server: Sighting?, keepLater: Bool) async throws -> ResolutionOutcome {
        // Offline the version known here stands; being expired, it is compared with the origin's as soon as that can be asked.
        if server == nil { try await context.store.commit([.expire(conflict.key)], durable: false) }
        if let id = conflict.operationID, context.queue.operation(id) != nil {
            if keepLater {
                _ = try await context.queue.discard(id, cascade: false, force: false)
            } else {
                try await context.queue.discardAll(of: conflict.key, force: false)
            }
        }
        try await close()
        return .resolved
    }

    private func send(_ write: ResolvingWrite, server: Sighting) async throws -> ResolutionOutcome {
        if server.isGone, write.method == .delete { return try await done(write, status: server.status) }
        var fields = write.fields
        let id = context.makeID()
        fields["Idempotency-Key"] = id
        switch server.isGone ? .ifNoneMatch("*") : Attempt.precondition(on: server) {
        case .none: break
        case .ifMatch(let tag): fields["If-Match"] = tag
        case .ifNoneMatch(let tag): fields["If-None-Match"] = tag
        case .ifUnmodifiedSince(let date): fields["If-Unmodified-Since"] = date
        }
        let target = conflict.key.target
        var isPlain = false
        while true {
            switch await courier.send(
                write.method, target, fields: fields, body: write.body, partition: conflict.key.partition,
                expectsJSON: write.isJSON)
            {
            case .unreachable: return .queued(try await queue(write, onto: server.version, as: id, in: .pending))
            // A portal that says yes has taken the bytes; one that redirects has not passed them on.
            case .portal(let status) where !(200...299).contains(status):
                return .queued(try await queue(write, onto: server.version, as: id, in: .pending))
            case .lost, .portal: return .queued(try await queue(write, onto: server.version, as: id, in: .unknown))
            case .noBody: throw Problem(.storeFailed, "The stored body can't be read.")
            case .noCredential, .refusedCredential:
                throw Problem(.credentialUnproven, "The origin asks for another credential.")
            case .answer(let response):
                let answer = await AnswerKeeper(context, at: target).record(response)
                switch AnswerClass(status: response.status, method: write.method) {
                case .applied: return try await done(write, status: answer.status)
                case .gone where write.method == .delete: return try await done(write, status: answer.status)
                case .unknown: return .queued(try await queue(write, onto: server.version, as: id, in: .unknown))
                case .refused:
                    if let tag = fields["If-Match"], let plain = EncodedTag.plain(tag), !isPlain {
                        fields["If-Match"] = plain
                        isPlain = true
                        continue
                    }
                    return try await again()
                case .gone: return try await again()
                default:
                    throw Problem(
                        .conflict, "The origin refused the resolution with \(answer.status).",
                        status: answer.status >= 500 ? 502 : 409)
                }
            }
        }
    }

    /// The origin took it: the lane goes on. What the origin has now is kept, for what reads and edits offline see from here on.
    private func done(_ write: ResolvingWrite, status: Int) async throws -> ResolutionOutcome {
        let key = conflict.key
        var changes: [StoreChange] = [.expire(key)]
        if write.method == .delete {
            changes = ServerCopies.gone(
                key, status: status, policy: conflict.policy, at: context.clock.now, epoch: context.store.epoch)
        } else if case .seen(let sighting) = await look() {
            changes = copies(of: sighting)
        }
        try await context.store.commit(changes + WriteEffects.lists(of: key, write.method), durable: false)
        try await context.queue.onlineWriteSucceeded(on: conflict.key)
        try await close()
        return .resolved
    }

    /// It moved while the decision was on its way.
    private func again() async throws -> ResolutionOutcome {
        guard case .seen(let sighting) = await look() else { return try await again(with: nil) }
        try await context.store.commit(copies(of: sighting), durable: false)
        return try await again(with: sighting)
    }

    /// The same conflict with the newer server version, nil where that can't be had now.
    private func again(with newest: Sighting?) async throws -> ResolutionOutcome {
        var newer = conflict
        newer.revision += 1
        newer.serverIsLatest = newest != nil
        if let newest { newer.server = newest.version }
        try await context.queue.record(newer)
        return .conflictAgain(newer)
    }

    /// Closes the conflict where the queue has not done so with the operation.
    private func close() async throws {
        guard try await context.store.conflict(conflict.id)?.closedAt == nil else { return }
        try await context.queue.onlineWriteSucceeded(on: conflict.key)
    }

    private func copies(of sighting: Sighting) -> [StoreChange] {
        ServerCopies.seen(sighting, as: conflict.key, policy: conflict.policy, epoch: context.store.epoch)
    }

    // MARK: Offline

    private func whileOffline(_ resolution: Resolution) async throws -> ResolutionOutcome {
        if case .keepServer(let keepLater) = resolution { return try await keepServer(nil, keepLater: keepLater) }
        guard conflict.kind != .refused else {
            throw Problem(.conflict, "A refused POST is not sent again. Keep the server version, and make a new POST.")
        }
        let server = conflict.server ?? ConflictVersion()
        let write = try await Self.write(resolution, of: conflict, server: server, context: context)
        return .queued(try await queue(write, onto: server, as: context.makeID(), in: .pending))
    }

    /// Queues it like an edit whose base is the server version: where that has moved on by then, it is a conflict again. `id`: the
    /// Idempotency-Key under which it was sent, where its state is `unknown`.
    private func queue(
        _ write: ResolvingWrite, onto server: ConflictVersion, as id: String, in state: OperationState
    ) async throws -> Operation {
        let key = conflict.key
        let hashed =
            "\(write.method) \(key.target) \(id) \(write.body?.digest.hex ?? "")"
        var precondition = Precondition.none
        if let tag = server.etag.map({ ETag($0) }), tag.isStrong {
            precondition = .ifMatch(tag.text)
        } else if server.isAbsent, write.method != .delete {
            precondition = .ifNoneMatch("*")
        }
        return try await context.queue.accept(
            WriteDraft(
                key: key, route: .resources, method: write.method, kind: .resolution, fields: write.fields,
                body: write.body, precondition: precondition, policy: conflict.policy, idempotencyKey: id,
                fingerprint: context.digest(Array(hashed.utf8)), initialState: state, base: server.base))
    }
}
