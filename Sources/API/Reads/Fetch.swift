import CacheCore
import HTTPModel

/// Asks the origin once for a read, and keeps what may be kept. Runs on a task of its own: it goes on when the client has left.
struct Fetch: Sendable {
    let context: ServiceContext
    let counters: Counters
    /// Where errors may be given again; nil for a fetch that nobody reads.
    var errors: ErrorAnswers?
    let request: ResourceRequest
    let policy: Policy
    let method: HTTPMethod
    /// For the origin, without our own preconditions.
    let fields: HTTPFields
    /// Copies whose validators are sent.
    let revalidate: [ServerCopy]
    /// Whether a whole answer may be kept at all: not where the target holds a secret.
    let mayStore: Bool
    /// Whether the one who asks reads the body.
    let hasReader: Bool
    /// Whether a copy is to be on disk before the answer counts as kept (work in the background, design 11).
    let isDurable: Bool
    /// Takes the origin's interim answers, for the one who asked.
    var interim: (@Sendable (Int, HTTPFields) -> Void)?
    /// Where a part is asked for; the copies take no part then.
    var part: PartAsk?

    func run(_ flight: Flight) async {
        if let transfer = await ask(flight) { await carry(transfer, flight) }
        flight.finish()
    }

    /// Asks, and returns once the flight has landed. What has then still to be carried is carried by a task of its own.
    func runToLanding(_ flight: Flight) async {
        guard let transfer = await ask(flight) else { return flight.finish() }
        Task {
            await carry(transfer, flight)
            flight.finish()
        }
    }

    private func ask(_ flight: Flight) async -> Transfer? {
        let wishes = request.head.fields
        return await ask(
            flight,
            conditions: part?.conditions(request: wishes)
                ?? Validation.conditionalFields(for: whole, request: wishes))
    }

    /// Those of the copies that a 304 can confirm. One whose bytes were found damaged is asked for anew instead.
    private var whole: [ServerCopy] { revalidate.filter { context.store.holds($0.content) } }

    private func ask(_ flight: Flight, conditions: HTTPFields) async -> Transfer? {
        let lane = context.queue.lane(of: request.key)
        var fields = fields
        for condition in conditions { fields[condition.name] = condition.value }
        let ticket = errors?.ticket(request.key) ?? 0
        let requestTime = context.clock.now
        let response: OriginResponse
        do {
            response = try await context.origin.send(
                OriginRequest(method: method, target: request.target.text, fields: fields, interim: interim))
        } catch {
            if case .unreachable = error { context.network.connectionFailed(error) }
            flight.land(.failed(error))
            return nil
        }
        let times = (request: requestTime, response: context.clock.now)
        guard await isOrigins(response) else {
            response.body.cancel()
            flight.land(.failed(.unreachable(reason: "a captive portal answers", isTLS: false)))
            return nil
        }
        noteCredentials(response.status)
        if response.status == 304, !conditions.isEmpty {
            await drain(response.body)
            if let part, let parts = part.parts, part.isConfirmation {
                await renew(parts, by: response.fields, times, flight)
            } else if let copy = Validation.confirmed(whole, by: response.fields, request: request.head.fields) {
                await renew(copy, by: response.fields, times, flight)
            } else {
                // It confirms something that is not kept: only the whole answer helps.
                return await ask(flight, conditions: HTTPFields())
            }
            return nil
        }
        if response.status == 304, !isConditional {
            // It would reach a client that has nothing to go with it (RFC 9110 15.4.5).
            response.body.cancel()
            flight.land(.failed(.badAnswer(reason: "304 without a condition")))
            return nil
        }
        return await take(response, times, lane, flight, ticket: ticket)
    }

    /// Whether the client's own conditions went to the origin.
    private var isConditional: Bool {
        ["If-None-Match", "If-Modified-Since"].contains { fields.contains($0) }
    }

    /// Nothing of the exchange may be kept (RFC 9111 5.2.1.5).
    private var isUnkept: Bool { CacheControl(request: request.head.fields).noStore }

    /// Whether the answer is the origin's own, not a captive portal's (design 8).
    private func isOrigins(_ response: OriginResponse) async -> Bool {
        let accept = request.head.fields.combined("Accept") ?? ""
        let expectsJSON =
            accept.hasBytes(of: "json")
            || revalidate.contains { $0.fields["Content-Type"]?.hasBytes(of: "json") ?? false }
        if context.network.looksLikePortal(
            status: response.status, fields: response.fields, expectsJSON: expectsJSON),
            await context.network.confirmPortal()
        {
            return false
        }
        context.network.answered(status: response.status)
        return true
    }

    private func noteCredentials(_ status: Int) {
        if status == 401 {
            context.credentials.refused(request.credentials, for: request.key.partition)
        } else if status != 403 {
            context.credentials.accepted(request.credentials, for: request.key.partition)
        }
    }

    private func drain(_ body: any BodySource) async {
        while let piece = try? await body.next(), !piece.isEmpty {}
    }

    /// Whether nothing has gone to the target since the origin was asked that the answer may be older than.
    func isUpToDate(_ flight: Flight) -> Bool {
        !flight.isInvalidated && !hasExpired(since: flight)
    }

    func hasExpired(since flight: Flight) -> Bool {
        context.expiries.hasExpired(request.key, since: flight.ticket)
    }

    private func renew(
        _ copy: ServerCopy, by fields: HTTPFields, _ times: (request: Double, response: Double), _ flight: Flight
    ) async {
        var renewed = refreshed(copy, by: fields, times)
        if !isUpToDate(flight) { renewed.isExpired = true }
        counters.count(.revalidated)
        if !isUnkept {
            var former: [StoreChange] = []
            if renewed.selecting != copy.selecting, Selecting.matches(copy, request: request.head.fields) {
                // Its Vary has changed: as it was, it would answer requests that it is no longer for.
                var outdated = copy
                outdated.isExpired = true
                former = [.putCopy(request.key, outdated)]
            }
            await keep(renewed, with: former, of: flight) { isUpToDate(flight) }
        }
        flight.land(.renewed(renewed, own: Validation.unstored(fields, in: renewed)))
    }

    /// What an answer to HEAD says of stored answers to GET (RFC 9111 4.3.5).
    func learn(
        fromHead response: OriginResponse, _ times: (request: Double, response: Double), _ flight: Flight
    ) async {
        guard policy.fetchPolicy == .httpCache, !isUnkept, mayStore else { return }
        if response.status == 404 || response.status == 410 { await commit([.expire(request.key)]) }
        guard response.status == 200, let entry = try? await context.store.entry(request.key) else { return }
        let judged = Validation.judged(
            entry.copies, byHead: keepable(response.fields), request: request.head.fields, requestTime: times.request,
            responseTime: times.response, epoch: context.store.epoch, isShared: isShared,
            targetedFields: request.settings.targetedFields)
        guard let newest = judged.first, isUpToDate(flight) else { return }
        await commit(judged.map { .putCopy(request.key, $0) })
        announce(newest)
    }

    private func renew(
        _ parts: PartialCopy, by fields: HTTPFields, _ times: (request: Double, response: Double), _ flight: Flight
    ) async {
        let renewed = parts.withHead(refreshed(parts.head, by: fields, times))
        counters.count(.revalidated)
        if isUpToDate(flight) { await commit([.putParts(request.key, renewed)]) }
        flight.land(.renewedParts(renewed))
    }

    private func refreshed(
        _ copy: ServerCopy, by fields: HTTPFields, _ times: (request: Double, response: Double)
    ) -> ServerCopy {
        Validation.refreshed(
            copy, by: keepable(fields), request: request.head.fields, requestTime: times.request,
            responseTime: times.response,
            epoch: context.store.epoch, isShared: isShared, targetedFields: request.settings.targetedFields)
    }

    private func keepable(_ fields: HTTPFields) -> HTTPFields {
        Secrets.removed(from: fields, settings: request.settings)
    }

    var isShared: Bool { request.key.partition == .none }

    /// Whether others may use it without asking themselves.
    func isReusable(_ copy: ServerCopy) -> Bool {
        Freshness.timeToLive(
            of: copy, policy: policy, isShared: isShared, epoch: context.store.epoch,
            targetedFields: request.settings.targetedFields, now: context.clock.now) > 0
    }

    /// `isProven`: a digest will tell whether the body came whole.
    func decision(on response: OriginResponse, isProven: Bool) -> StoreDecision {
        guard mayStore else { return .no("NO_STORE") }
        // A part is judged as the whole would be (RFC 9111 3.3).
        let status = response.status == 206 ? 200 : response.status
        return Storability.mayStore(
            method: method, requestFields: request.head.fields, status: status, fields: response.fields,
            policy: policy, isShared: isShared, isDelimited: response.isDelimited || isProven,
            targetedFields: request.settings.targetedFields)
    }

    /// What will be kept of the answer, its content still empty.
    func copy(of response: OriginResponse, _ times: (request: Double, response: Double)) -> ServerCopy {
        var stored = Validation.stripped(
            keepable(response.fields), isShared: isShared, targetedFields: request.settings.targetedFields)
        if !stored.contains("Date") { stored["Date"] = HTTPDate(times.response).text }
        return ServerCopy(
            status: response.status, fields: stored,
            content: .empty, requestTime: times.request,
            responseTime: times.response,
            selecting: Selecting.fields(vary: response.fields.values("Vary"), request: request.head.fields),
            epoch: context.store.epoch)
    }

    private static func stores(_ change: StoreChange) -> Bool {
        switch change {
        case .putCopy, .putParts: true
        default: false
        }
    }

    /// Commits what was learnt, and where that is a copy, the policy that the request brought for it (design 2). A store that can't
    /// take it is logged: the client has its answer all the same.
    func commit(_ changes: [StoreChange]) async {
        var changes = changes
        var sent = request.requestPolicy
        sent.fetchPolicy = nil
        do {
            if !sent.isEmpty, changes.contains(where: Self.stores) {
                var layer = try await context.store.entry(request.key)?.policy ?? PolicyLayer()
                layer.take(sent)
                changes.append(.setPolicy(request.key, layer))
            }
            try await context.store.commit(changes, durable: isDurable)
        } catch {
            context.log.write(.warning, "an answer could not be stored", [("error", "\(error)")])
        }
    }
}
