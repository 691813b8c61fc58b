import CacheCore
import HTTPModel

/// Order among the writes of one resource (design 4, "Behind a lane").
extension WriteJob {
    /// Seconds that a write waits for those before it.
    var laneWait: Double { preferences.wait ?? request.settings.laneWait }

    /// Online or offline, after the writes of the same resource that came before. `body` nil: not read yet.
    func perform(_ body: SentBody?, deadline: Double) async throws {
        var job = self
        var body = body
        while true {
            try job.checkIsThere()
            let known = try await job.loaded(with: nil)
            let kind = try await known.kind()
            let sent: SentBody
            if let body { sent = body } else { sent = try await known.takeBody() }
            body = sent
            // A new member has no order with anything that is there already.
            let turn = kind == .create ? nil : await ResourceTurn(at: job.key, in: context.queue, deadline: deadline)
            defer { turn?.pass() }
            // A temporary target may have become real meanwhile.
            let current = job.isUnmoved ? job : job.renewed()
            guard current.key == job.key, !current.isGone else {
                job = current
                continue
            }
            let loaded = try await current.loaded(with: turn)
            return try await loaded.write(sent, kind, isBehind: turn == nil && kind != .create, deadline: deadline)
        }
    }

    /// Whether its target is what it was when it was asked for.
    private var isUnmoved: Bool {
        request === original && context.queue.resolve(original.target, of: original.key.partition) == .itself
    }

    func checkIsThere() throws { if isGone { throw Problem.temporaryGone } }

    /// Read before the turn, so that a slow client holds up nobody; what is going to be refused is refused before.
    private func takeBody() async throws -> SentBody {
        let isOnline = context.network.state.isOnline
        if !isOnline, let refusal = refusal(offlinePolicy) { throw refusal }
        try checkContentType()
        return try await reader.read(mayStream: isOnline, isForbiddenToKeep: isForbiddenToKeep)
    }

    /// `isBehind`: another write of the resource is still on its way to the origin.
    private func write(_ body: SentBody, _ kind: OperationKind, isBehind: Bool, deadline: Double) async throws {
        if let earlier { return try await queueAgain(body, after: earlier) }
        guard context.network.state.isOnline else { return try await queueOffline(body) }
        try await writeOnline(body, kind, isBehind: isBehind, deadline: deadline)
    }

    @inline(never)
    private func writeOnline(_ body: SentBody, _ kind: OperationKind, isBehind: Bool, deadline: Double) async throws {
        try checkContentType()
        if isBehind || namesTemporaryTarget(body) { return try await takePlace(body, kind, deadline: deadline) }
        switch context.queue.lane(of: key) {
        case .active: return try await takePlace(body, kind, deadline: deadline)
        case .stopped where method == .patch || kind == .action:
            throw Problem(
                .laneStopped, "Retry, change or discard the stopped write first (/cache/operations), or PUT the whole.")
        case .stopped, .empty: break
        }
        try await sendNow(body)
    }
}
