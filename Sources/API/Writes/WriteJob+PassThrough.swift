import CacheCore
import HTTPModel

/// Requests of targets that no store has open (design 11): to the origin and back, nothing kept.
extension WriteJob {
    func passThrough(_ code: ProblemCode) async throws {
        if !method.isSafe, request.place.hasWaitingWrite {
            throw Problem(
                .storeDetached,
                "A queued write of this target waits in the store \(request.place.store). Attach or start it first.")
        }
        guard context.network.state.isOnline else { throw Self.refusal(code) }
        var turn: ResourceTurn?
        if !method.isSafe {
            // Operations that were left from before are still delivered where the cache is off.
            turn = await ResourceTurn(at: key, in: context.queue, deadline: context.clock.now + laneWait)
            guard turn != nil, context.queue.lane(of: key) == .empty else {
                turn?.pass()
                throw Self.lanePending
            }
        }
        defer { turn?.pass() }
        let body = try await reader.read(mayStream: true, isForbiddenToKeep: true)
        switch try await transmit(method, request.originFields, body) {
        case .notSent: throw Self.refusal(code)
        case .unknown where method.isSafe:
            throw Problem(.originTimeout, "The origin gave no answer. Try again.")
        case .unknown:
            throw Problem(.outcomeUnknown, "The origin gave no answer. Look at the resource before it is sent again.")
        case .answer(let answer): await pass(answer)
        }
    }

    private static func refusal(_ code: ProblemCode) -> Problem {
        let advice =
            code == .cacheDisabled
            ? "The cache is off. Set another mode, or try again"
            : "Attach or start the store of this target, or try again"
        return Problem(code, advice + " when the origin is reachable.", fields: ["Retry-After": "1"])
    }
}
