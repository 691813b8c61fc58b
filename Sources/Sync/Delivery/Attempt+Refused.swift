import CacheCore
import HTTPModel

/// A write that the origin refused with 409, 412, 404 or 410 (design 6).
extension Attempt {
    /// Rounds of CLIENT_WINS, and one of an encoded tag, before the conflict is preserved.
    private static let roundLimit = 3

    func refused(_ answer: KeptAnswer) async -> DeliveryOutcome {
        if settings.idempotentOrigin, answer.status == 409, mustVerify || operation.attempts > 1 {
            return notApplied(answer)  // the first one is still running
        }
        if operation.kind == .create || operation.kind == .action { return await refusedPost(answer) }
        if mayHaveTakenEffect { return await refusedLater(answer) }
        if let plain = plainTag(after: answer) { return .rebased(precondition: plain, base: operation.base) }
        switch await look() {
        case .seen(let sighting): return byPolicy(answer, sighting, copies: await copies(of: sighting))
        case .unreadable: return conflict(kind, server: nil, answer: answer)
        case .unreachable, .notNow, .noCredential: return withoutServer(answer)
        }
    }

    /// 409 or 412 to an attempt that is not the first: maybe an earlier one took effect.
    private func refusedLater(_ answer: KeptAnswer) async -> DeliveryOutcome {
        await context.clock.sleep(until: context.clock.now + settings.settle)
        switch await look() {
        case .unreachable, .notNow, .noCredential:
            // Looked at before the next send, since its outcome counts as unknown till then.
            return .unknown(at: context.clock.now + backoff, answer: answer, reason: nil)
        case .unreadable: return conflict(.outcomeUnknown, server: nil, answer: answer)
        case .seen(let sighting):
            switch await verdict(sighting) {
            case nil: return .unknown(at: context.clock.now + backoff, answer: answer, reason: nil)
            case .delivered: return deliveredBySight(sighting)
            case .sendAgain:
                // Still the base: no earlier attempt is the reason, so that the refusal is believed.
                if let plain = plainTag(after: answer) { return .rebased(precondition: plain, base: operation.base) }
                return byPolicy(answer, sighting, copies: await copies(of: sighting))
            case .undecided:
                if sighting.isGone, operation.method != .delete {
                    return byPolicy(answer, sighting, copies: await copies(of: sighting))
                }
                return conflict(
                    .outcomeUnknown, server: sighting, answer: answer, copies: await copies(of: sighting))
            }
        }
    }

    private func refusedPost(_ answer: KeptAnswer) async -> DeliveryOutcome {
        if operation.kind == .create, mayHaveTakenEffect {
            await context.clock.sleep(until: context.clock.now + settings.settle)
            if let outcome = await verifyCreate() {
                if case .failed = outcome { return conflict(.outcomeUnknown, server: nil, answer: answer) }
                return outcome
            }
        }
        if operation.policy.conflictResolutionPolicy == .serverWins {
            return .dropped(record(.refused, server: nil, answer: answer), copies: ServerCopies.lists(of: operation))
        }
        return conflict(.refused, server: nil, answer: answer)
    }

    /// 404 or 410.
    func gone(_ answer: KeptAnswer) async -> DeliveryOutcome {
        if operation.kind == .create || operation.kind == .action {
            return .failed(reason: Reason.status, answer: answer)
        }
        let copies = goneCopies(after: answer.status)
        if operation.method == .delete {
            return .delivered(
                answer: answer, newTarget: nil, newBase: .unknown, copies: copies + ServerCopies.lists(of: operation))
        }
        guard !Verifier.startedFromNothing(operation) || guardsByTag else {
            return .failed(reason: Reason.status, answer: answer)
        }
        return byPolicy(answer, nil, copies: copies)
    }

    private var guardsByTag: Bool { if case .ifMatch = operation.precondition { true } else { false } }

    // MARK: Policies

    /// `sighting` nil or gone: the target is gone at the origin.
    private func byPolicy(_ answer: KeptAnswer, _ sighting: Sighting?, copies: [StoreChange]) -> DeliveryOutcome {
        let isGone = sighting?.isGone ?? true
        if isGone, operation.method == .delete {
            return .delivered(
                answer: answer, newTarget: nil, newBase: .unknown, copies: copies + ServerCopies.lists(of: operation))
        }
        let kind = isGone ? ConflictKind.deletedAtOrigin : self.kind
        switch operation.policy.conflictResolutionPolicy {
        case .preserveConflict: break
        case .serverWins:
            return .dropped(record(kind, server: sighting, isGone: isGone, answer: answer), copies: copies)
        case .clientWins:
            guard memory.rounds(of: operation.id) < Self.roundLimit else { break }
            if isGone {
                return .rebased(precondition: .ifNoneMatch("*"), base: .unknown)
            } else if let sighting {
                return .rebased(precondition: Self.precondition(on: sighting), base: sighting.base)
            }
        }
        return .conflict(
            record(kind, server: sighting, isGone: isGone, answer: answer), answer: answer, copies: copies)
    }

    /// The server version could not be read now. PRESERVE stops all the same; the others need it and try again.
    private func withoutServer(_ answer: KeptAnswer) -> DeliveryOutcome {
        guard operation.policy.conflictResolutionPolicy == .preserveConflict else {
            return .retry(at: context.clock.now + backoff, answer: answer, reason: nil)
        }
        return conflict(kind, server: nil, answer: answer)
    }

    /// The condition that holds for what was seen, as strong as its validators allow.
    static func precondition(on sighting: Sighting) -> Precondition {
        if let tag = sighting.fields.etag, tag.isStrong { return .ifMatch(tag.text) }
        return sighting.lastModified.map { .ifUnmodifiedSince($0) } ?? .none
    }

    /// The same condition with the tag's content coding taken off, where 412 came to one that has it (design 6).
    private func plainTag(after answer: KeptAnswer) -> Precondition? {
        guard answer.status == 412, case .ifMatch(let tag) = operation.precondition,
            memory.rounds(of: operation.id) <= Self.roundLimit
        else { return nil }
        return EncodedTag.plain(tag).map { .ifMatch($0) }
    }

    private func copies(of sighting: Sighting) async -> [StoreChange] {
        ServerCopies.seen(sighting, as: operation.lane, policy: operation.policy, epoch: context.store.epoch)
    }

    // MARK: Conflicts

    private var kind: ConflictKind {
        if case .ifNoneMatch = operation.precondition { return .existsAtOrigin }
        return .edited
    }

    func conflict(
        _ kind: ConflictKind, server: Sighting?, answer: KeptAnswer?, copies: [StoreChange] = []
    ) -> DeliveryOutcome {
        .conflict(
            record(kind, server: server, isGone: server?.isGone ?? false, answer: answer), answer: answer,
            copies: copies)
    }

    private func record(
        _ kind: ConflictKind, server: Sighting?, isGone: Bool = false, answer: KeptAnswer?
    ) -> Conflict {
        let base = operation.base
        let knewBase = base.etag != nil || base.lastModified != nil || base.content != nil
        return Conflict(
            id: context.makeID(), key: operation.lane, kind: kind, operationID: operation.id,
            method: operation.method, fields: operation.fields,
            base: knewBase
                ? ConflictVersion(
                    etag: base.etag, lastModified: base.lastModified, mediaType: base.mediaType,
                    content: base.content) : nil,
            client: operation.clientVersion,
            server: server?.version ?? (isGone ? ConflictVersion(isAbsent: true) : nil),
            serverIsLatest: server != nil || isGone, originAnswer: answer, policy: operation.policy,
            createdAt: context.clock.now)
    }
}
