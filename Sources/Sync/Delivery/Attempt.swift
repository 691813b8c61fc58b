package import CacheCore
import HTTPModel

/// One attempt to deliver one claimed operation; a further attempt is a new value. Makes requests and reads the store, records
/// nothing: the outcome goes to the queue, which commits it.
package struct Attempt: Sendable {
    let context: DeliveryContext
    let memory: DeliveryMemory
    let operation: Operation
    let mustVerify: Bool
    let courier: Courier
    let lookout: Lookout

    var settings: Settings {
        _read { yield context.settings.current }
    }

    /// 307 and 308 that are followed in a row.
    private static let redirectLimit = 5

    package init(_ claim: Claim, context: DeliveryContext, memory: DeliveryMemory) {
        self.context = context
        self.memory = memory
        operation = claim.operation
        mustVerify = claim.mustVerify
        courier = Courier(context)
        lookout = Lookout(context)
    }

    package func run() async -> DeliveryOutcome {
        if mustVerify, !settings.idempotentOrigin {
            if !memory.isSettled(operation.id) {
                // Never later than `settle` from now: a clock that was set back since would keep others from their turn.
                let since = min(max(memory.startedAt, operation.createdAt), context.clock.now)
                await context.clock.sleep(until: since + settings.settle)
            }
            if let outcome = await verifyUnknown() { return outcome }
        }
        // Whether the last attempt that is allowed took effect had to be seen first.
        if mustVerify, let limit = settings.maxAttempts, operation.attempts > limit {
            return .failed(reason: Reason.maxAttempts, answer: operation.lastAnswer)
        }
        if operation.kind == .create, !settings.idempotentOrigin, let outcome = await noteMembersBefore() {
            return outcome
        }
        return await send()
    }

    // MARK: Sending

    private func send() async -> DeliveryOutcome {
        let request = OutgoingWrite(operation)
        var target = operation.target
        for _ in 0...Self.redirectLimit {
            let start = context.clock.now
            switch await courier.send(
                request.method, target, fields: request.fields, body: request.body, partition: operation.partition,
                expectsJSON: request.expectsJSON)
            {
            case .unreachable: return .notSent
            case .noCredential: return .waitsForCredential
            case .noBody(let error):
                context.log.write(
                    .error, "a queued body can't be read", [("operation", operation.id.text), ("error", "\(error)")])
                // Only bytes that are gone stay so; a disk that fails or a lack of descriptors may pass.
                return error.isLoss
                    ? .failed(reason: Reason.body, answer: nil)
                    : .retry(at: context.clock.now + backoff, answer: operation.lastAnswer, reason: Reason.body)
            case .lost(let error):
                context.log.write(
                    .info, "a write had no answer", [("operation", operation.id.text), ("error", "\(error)")])
                return unknown(answer: nil)
            case .portal(let status):
                // A portal that says yes has taken the bytes; one that redirects has not passed them on.
                return (200...299).contains(status) ? unknown(answer: nil) : .notSent
            case .refusedCredential(let response, let another):
                let answer = await AnswerKeeper(context, at: operation.target).record(response)
                if another { return .retry(at: context.clock.now, answer: answer, reason: nil) }
                // Nobody will come with another one for what was written without: it is tried again, ever later.
                let isAnybodys = operation.partition == .none && !context.sources.isConfigured
                return isAnybodys ? notApplied(answer) : .waitsForCredential
            case .answer(let response):
                if AnswerClass(status: response.status, method: request.method) == .follow,
                    let next = redirectTarget(response, at: target)
                {
                    response.body.cancel()
                    target = next
                    continue
                }
                return await judge(response, request: request, sentAt: start)
            }
        }
        return .failed(reason: Reason.redirects, answer: nil)
    }

    private func redirectTarget(_ response: OriginResponse, at target: Target) -> Target? {
        response.fields["Location"].flatMap { target.resolving($0, under: context.origin.base) }
    }

    private func judge(_ response: OriginResponse, request: OutgoingWrite, sentAt: Double) async -> DeliveryOutcome {
        let keeper = AnswerKeeper(context, at: operation.target)
        switch AnswerClass(status: response.status, method: request.method) {
        case .applied: return await applied(response, request: request, sentAt: sentAt)
        case .notApplied: return notApplied(await keeper.record(response))
        case .unknown: return unknown(answer: await keeper.record(response))
        case .refused: return await refused(await keeper.record(response))
        case .gone: return await gone(await keeper.record(response))
        case .credential, .follow, .redirected, .failed:
            return .failed(reason: Reason.status, answer: await keeper.record(response))
        }
    }

    // MARK: Not applied, unknown

    func notApplied(_ answer: KeptAnswer) -> DeliveryOutcome {
        if let limit = settings.maxAttempts, operation.attempts >= limit {
            return .failed(reason: Reason.maxAttempts, answer: answer)
        }
        let now = context.clock.now
        let asked = RetryAfter.seconds(in: answer.fields, now: now)
        return .retry(
            at: max(now + backoff, now + (asked ?? 0)), answer: answer, reason: asked.map { _ in Reason.retryAfter })
    }

    /// Due for the look after `settle`, and later each time that it was sent in vain: what always ends its connection must not keep the
    /// origin busy. The look itself backs off where it brings nothing.
    func unknown(answer: KeptAnswer?) -> DeliveryOutcome {
        let now = context.clock.now
        let delay = settings.idempotentOrigin ? backoff : max(backoff, settings.settle)
        if let asked = answer.flatMap({ RetryAfter.seconds(in: $0.fields, now: now) }) {
            return .unknown(at: now + max(delay, asked), answer: answer, reason: Reason.retryAfter)
        }
        return .unknown(at: now + delay, answer: answer, reason: settings.idempotentOrigin ? nil : Reason.settle)
    }

    /// After a look in vain; no earlier than `settle` where the outcome is unknown.
    func lookAgain() -> DeliveryOutcome {
        let attempts = operation.attempts + memory.looks(of: operation.id)
        let pause = RetryDelay.backoff(attempts: attempts, random: context.random())
        return .lookedInVain(at: context.clock.now + max(pause, mustVerify ? settings.settle : 0))
    }

    var backoff: Double { RetryDelay.backoff(attempts: operation.attempts, random: context.random()) }

    /// Whether an attempt before this one may have taken effect in spite of what it was told: all but those that were answered
    /// with a refusal and led to another precondition.
    var mayHaveTakenEffect: Bool {
        !settings.idempotentOrigin && memory.rounds(of: operation.id) == 0 && (mustVerify || operation.attempts > 1)
    }

    // MARK: Looks

    func look() async -> LookResult {
        await lookout.look(
            at: operation.target, fields: operation.fields, partition: operation.partition,
            expectsJSON: OutgoingWrite(operation).expectsJSON)
    }

    /// nil: what it needs can't be read now.
    func verdict(_ sighting: Sighting) async -> Verifier.Verdict? {
        guard let bytes = try? await bytes(for: sighting) else { return nil }
        return Verifier.judge(operation, sighting, bytes: bytes)
    }

    func bytes(for sighting: Sighting) async throws(StoreError) -> Verifier.Bytes {
        Verifier.Bytes(
            sent: operation.method == .delete ? nil : try await lookout.bytes(OutgoingWrite(operation).body),
            base: try await lookout.bytes(operation.base.content),
            seen: sighting.isGone ? nil : try await lookout.bytes(sighting.content))
    }

    /// The look after `unknown`; nil: no trace of it, to be sent again.
    private func verifyUnknown() async -> DeliveryOutcome? {
        switch operation.kind {
        case .action: return .failed(reason: Reason.outcomeUnknown, answer: operation.lastAnswer)
        case .create: return await verifyCreate()
        case .edit, .resolution: break
        }
        switch await look() {
        case .unreachable: return .notSent
        case .noCredential: return .waitsForCredential
        case .notNow: return lookAgain()
        case .unreadable: return conflict(.outcomeUnknown, server: nil, answer: operation.lastAnswer)
        case .seen(let sighting):
            switch await verdict(sighting) {
            case nil: return lookAgain()
            case .sendAgain: return nil
            case .delivered: return deliveredBySight(sighting)
            case .undecided: return conflict(.outcomeUnknown, server: sighting, answer: operation.lastAnswer)
            }
        }
    }

    func deliveredBySight(_ sighting: Sighting) -> DeliveryOutcome {
        .delivered(
            answer: nil, newTarget: nil, newBase: sighting.base,
            copies: ServerCopies.seen(
                sighting, as: operation.lane, policy: operation.policy, epoch: context.store.epoch)
                + ServerCopies.lists(of: operation))
    }
}
