import CacheCore
import HTTPModel

/// OPTIONS, PROPFIND, MOVE and whatever else there is: passed on, never queued (design 4, "Other methods").
extension WriteJob {
    func passOn() async throws {
        var turn: ResourceTurn?
        if !method.isSafe {
            turn = await ResourceTurn(at: key, in: context.queue, deadline: context.clock.now + laneWait)
            guard turn != nil else { throw Self.lanePending }
        }
        defer { turn?.pass() }
        try await loaded(with: turn).passOnInTurn()
    }

    private func passOnInTurn() async throws {
        try checkIsThere()
        guard context.network.state.isOnline else { throw Self.notQueueable(method) }
        guard context.queue.lane(of: key) == .empty else { throw Self.lanePending }
        let body = try await reader.read(mayStream: true, isForbiddenToKeep: true)
        switch try await transmit(method, request.originFields, body) {
        case .notSent: throw Self.notQueueable(method)
        case .unknown:
            guard !method.isSafe else {
                throw Problem(.originTimeout, "The origin gave no answer. Try again.")
            }
            throw try await outcomeUnknown(body)
        case .answer(let answer):
            let changes = WriteEffects.changes(
                key: key, method: method, status: answer.status, answerFields: keepable(answer.fields), answerBody: nil,
                answerBodyIsComplete: false, sentBody: nil, sentType: nil, entry: entry,
                originBase: context.origin.base, requestTime: answer.requestTime, responseTime: answer.responseTime,
                epoch: context.store.epoch, policy: policy, sentFields: request.head.fields,
                targetedFields: request.settings.targetedFields)
            if !changes.isEmpty { try await context.store.commit(changes, durable: true) }
            await pass(answer)
        }
    }

    static var lanePending: Problem {
        Problem(
            .lanePending, "Other writes of this target are not delivered yet. POST /cache/sync, then try again.")
    }

    private static func notQueueable(_ method: HTTPMethod) -> Problem {
        Problem(
            .methodNotQueueable, "\(method) can't be queued. Send it again when the origin is reachable.",
            fields: ["Retry-After": "1"])
    }
}
