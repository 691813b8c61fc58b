import CacheCore
import HTTPModel

/// The part of a read that asks the origin.
extension Read {
    static let preconditions = [
        "If-None-Match", "If-Match", "If-Modified-Since", "If-Unmodified-Since", "If-Range", "Range",
    ]

    /// The client's fields for the origin without its preconditions and ranges.
    var plainFields: HTTPFields {
        var fields = request.originFields
        fields.removeAll { field in Self.preconditions.contains { $0.equalsIgnoringASCIICase(field.name) } }
        if overlay.wantsPlainBytes, fields.contains("Accept-Encoding") { fields["Accept-Encoding"] = "identity" }
        return fields
    }

    /// The client's fields for the origin, its own preconditions among them.
    private var conditionalFields: HTTPFields {
        var fields = plainFields
        for field in conditions where Self.preconditions.contains(where: { $0.equalsIgnoringASCIICase(field.name) }) {
            fields.append(field.name, field.value)
        }
        return fields
    }

    private var isConditional: Bool { Self.preconditions.contains { conditions.contains($0) } }

    func flightKey(_ fill: RangeFill? = nil) -> Flights.Key {
        let varying = (entry?.copies ?? []).flatMap { $0.selecting.map(\.name) }
        let names = varying.isEmpty ? ["accept", "accept-encoding", "accept-language"] : varying
        return Flights.Key(
            entry: request.key, selecting: Selecting.fields(vary: names, request: request.head.fields), fill: fill)
    }

    func fetch(method: HTTPMethod, fields: HTTPFields, revalidate: [ServerCopy], hasReader: Bool) -> Fetch {
        Fetch(
            context: context, counters: counters, errors: errors, request: request, policy: policy, method: method,
            fields: fields, revalidate: revalidate, mayStore: !request.hasSecretParameter, hasReader: hasReader,
            isDurable: !hasReader, interim: hasReader && request.settings.interimAnswers ? interim : nil)
    }

    /// Hands interim answers on. The client may leave while the request goes on.
    private var interim: @Sendable (Int, HTTPFields) -> Void {
        let answer = ResourceAnswer(request, base: context.origin.base)
        return { [weak exchange = self.exchange] status, fields in
            exchange?.inform(answer.interim(status: status, fields: fields))
        }
    }

    func start(_ fetch: Fetch, _ flight: Flight) { Task { await fetch.run(flight) } }

    /// Asks, alone or together with others, and answers.
    func ask(revalidate: [ServerCopy], stale: StaleUse, forward: CacheStatus.ForwardReason) async throws {
        let directives = CacheControl(request: request.head.fields)
        let partPlan = partPlan(copies: revalidate)
        let part = partPlan?.ask
        let (revalidate, forward) =
            part?.parts == nil ? (revalidate, forward) : ([], part?.isConfirmation == true ? forward : .partial)
        // Without copies the client's own preconditions go to the origin, and so do ranges that no fill is made for; the answer
        // is for it alone.
        let isOwn = isConditional && revalidate.isEmpty && partPlan == nil && !overlay.isConcerned
        let mayJoin =
            request.method == .get && request.isProven && !isOwn && !directives.noCache && !directives.noStore
            && directives.maxAge == nil && !request.hasSecretParameter && forward != .request && forward != .bypass
            && !policy.noCache
        // Where the last answer was for its asker alone, who waits for another's only asks later.
        let key = mayJoin && !flights.isUnshareable(request.key) ? flightKey(part?.fill) : nil
        let wanted = partPlan?.wanted ?? 0..<Int64.max
        guard
            let (flight, isNew) = key.map({ flights.join($0, wanted: wanted, since: flightTicket) })
                ?? (Flight(since: context.expiries.ticket), true)
        else { throw LookAgain() }
        counters.miss(request.key)
        let deadline = deadline(stale)
        if isNew { await begin(flight, revalidate, part: part, isOwn: isOwn, deadline) }
        let answer = await flight.answer(by: deadline, clock: context.clock)
        let isShareable = isShareable(answer)
        if mayJoin, case .answered = answer { flights.note(request.key, isShareable: isShareable) }
        guard isNew || isShareable else {
            try await ask(alone: revalidate, stale: stale, forward: forward)
            return
        }
        if !isNew { counters.count(.collapsed) }
        try await finish(
            answer, of: flight, stale: stale, isOwn: isOwn,
            CacheStatus(forward: forward, collapsed: !isNew))
    }

    /// What another's request brought may not be used here: a request of our own.
    func ask(
        alone revalidate: [ServerCopy], stale: StaleUse, forward: CacheStatus.ForwardReason
    ) async throws {
        let flight = Flight(since: context.expiries.ticket)
        let isOwn = isConditional && revalidate.isEmpty && !overlay.isConcerned
        let deadline = deadline(stale)
        await begin(flight, revalidate, part: nil, isOwn: isOwn, deadline)
        try await finish(
            await flight.answer(by: deadline, clock: context.clock), of: flight, stale: stale, isOwn: isOwn,
            CacheStatus(forward: forward))
    }

    /// Until when the origin is waited for where a stale copy would do.
    private func deadline(_ stale: StaleUse) -> Double? {
        guard case .onErrorOrDelay = stale else { return nil }
        return context.clock.now + request.settings.staleTimeout
    }

    /// Asks the origin: on this task up to the landing, on one of its own where the answer may come too late for us.
    private func begin(
        _ flight: Flight, _ revalidate: [ServerCopy], part: PartAsk?, isOwn: Bool, _ deadline: Double?
    ) async {
        var fetch = fetch(
            method: request.method, fields: isOwn ? conditionalFields : plainFields, revalidate: revalidate,
            hasReader: true)
        fetch.part = part
        if deadline == nil { await fetch.runToLanding(flight) } else { start(fetch, flight) }
    }

    /// Whether one who did not ask may use it: stored, selected by this request too, and not to be validated first.
    private func isShareable(_ answer: FlightAnswer?) -> Bool {
        switch answer {
        case nil: true
        case .failed: true
        case .renewed(let copy, _): isReusable(copy)
        case .renewedParts(let parts): isReusable(parts.head)
        case .answered(let head): head.copy.map { isReusable($0) } ?? false
        }
    }

    private func isReusable(_ copy: ServerCopy) -> Bool {
        guard Selecting.matches(copy, request: request.head.fields) else { return false }
        return timeToLive(of: copy) > 0
    }

    private func finish(
        _ answer: FlightAnswer?, of flight: Flight, stale: StaleUse, isOwn: Bool, _ cacheStatus: CacheStatus
    ) async throws {
        switch answer {
        case nil:
            // One who joined leaves the asker's place alone.
            if !cacheStatus.collapsed { flight.abandon() }
            guard let copy = stale.copy else { throw ResourceAnswer.marked(timeout, cacheStatus) }
            try await serve(copy, detail: "STALE", isStale: true)
        case .failed(let error):
            try await failed(error, stale: stale, cacheStatus)
        case .renewed(let copy, let own):
            var cacheStatus = cacheStatus
            cacheStatus.forwardStatus = 304
            var representation = Representation(copy, syncState: syncState, now: context.clock.now)
            if !cacheStatus.collapsed { representation.fields.append(contentsOf: own) }
            if let list = try await overlay.composed(representation) {
                try await serve(composed: list, forwarded: cacheStatus)
                return
            }
            try await stored.send(representation, cacheStatus)
        case .renewedParts(let parts):
            let representation = representation(of: parts)
            guard stored.wanted(of: representation).allSatisfy(parts.covers) else {
                try await ask(alone: [], stale: .never, forward: .partial)
                return
            }
            var cacheStatus = cacheStatus
            cacheStatus.forwardStatus = 304
            try await stored.send(representation, cacheStatus)
        case .answered(let head):
            var cacheStatus = cacheStatus
            cacheStatus.forwardStatus = head.status
            if stale.covers(status: head.status), let copy = stale.copy {
                if !cacheStatus.collapsed { flight.abandon() }
                try await serve(copy, detail: "STALE", isStale: true, forwarded: cacheStatus)
                return
            }
            cacheStatus.stored = head.copy != nil
            cacheStatus.detail = head.detail
            let reader = cacheStatus.collapsed ? head.spool.makeReader() : flight.takeReader()
            guard let reader else { throw ResourceAnswer.marked(timeout, cacheStatus) }
            guard let copy = stale.copy, head.copy != nil, head.status != 206, !conditions.contains("Range") else {
                return try await pass(head, reader, isOwn: isOwn, cacheStatus)
            }
            switch await Beginning.of(reader) {
            case .read(let pieces): try await pass(head, reader, ahead: pieces, isOwn: isOwn, cacheStatus)
            case .failed: try await serve(copy, detail: "STALE", isStale: true, forwarded: cacheStatus)
            }
        }
    }

    private var timeout: Problem {
        Problem(.originTimeout, "The origin did not answer in time. Ask again later.")
    }

    /// No usable answer came.
    private func failed(_ error: OriginError, stale: StaleUse, _ cacheStatus: CacheStatus) async throws {
        var refusal = OriginFailure.problem(error, isHTTPCache: policy.fetchPolicy == .httpCache)
        if case .unreachable = error {
            switch plan(isOnline: false) {
            case .copy(let copy, _, let detail, let isStale):
                return try await serve(copy, detail: detail, isStale: isStale)
            case .refuse(let problem, _): refusal = problem
            case .origin: break
            }
        }
        if stale.covers(error), let copy = stale.copy {
            try await serve(copy, detail: "STALE", isStale: true)
            return
        }
        throw ResourceAnswer.marked(refusal, cacheStatus)
    }

    /// The origin's answer as it streams in.
    private func pass(
        _ head: FlightHead, _ reader: SpoolReader, ahead: [[UInt8]] = [], isOwn: Bool, _ cacheStatus: CacheStatus
    ) async throws {
        let shared = cacheStatus.collapsed ? head.copy : nil
        let fields = shared?.fields ?? head.fields
        var ahead = ahead
        if head.status == 200, request.method == .get, overlay.isNeeded, ListBytes.areReadable(fields) {
            if ahead.isEmpty, let first = try await next(of: reader) { ahead = [first] }
            if overlay.isConcerned(start: ahead.first ?? []) {
                try await pass(list: head, reader, ahead: ahead, fields, cacheStatus)
                return
            }
        }
        let answer = ResourceAnswer(request, base: context.origin.base).head(
            status: head.status, fields: fields, cacheStatus: cacheStatus,
            syncState: head.copy == nil ? nil : syncState,
            age: shared.map { Freshness.wholeSeconds(Freshness.currentAge(of: $0, now: context.clock.now)) })
        if head.status == 200 || head.status == 206, !isOwn {
            switch Conditional.evaluate(
                request: conditions, method: request.method, etag: fields["ETag"],
                lastModified: fields["Last-Modified"], exists: true, now: context.clock.now)
            {
            case .proceed: break
            case .notModified:
                reader.cancel()
                var notModified = answer
                notModified.status = 304
                notModified.fields.removeAll { field in
                    let name = field.name.asciiLowercased
                    return name.hasPrefix("content-") && name != "content-location"
                }
                exchange.respond(notModified, body: [])
                return
            case .failed:
                reader.cancel()
                throw ResourceAnswer.marked(
                    Problem(.precondition, "The resource has another version than the request names."), cacheStatus)
            }
        }
        if request.method == .head || head.status == 204 || head.status == 304 || head.status == 205 {
            reader.cancel()
            guard request.method == .head else {
                exchange.respond(answer, body: [])
                return
            }
            var answer = answer
            if let length = head.length {
                answer.fields["Content-Length"] = String(length)
                exchange.respond(answer, body: [])
            } else {
                exchange.begin(answer, length: nil)
                exchange.finish()
            }
            return
        }
        if !isOwn, try await sliced(head, reader, cacheStatus) { return }
        if let whole = head.whole {
            reader.cancel()
            return exchange.respond(answer, body: whole)
        }
        exchange.begin(answer, length: head.length)
        try await BodyPump.run(reader, ahead: ahead, to: exchange)
    }

    /// A list of the origin's that may hold what is pending: read whole before it is answered.
    private func pass(
        list head: FlightHead, _ reader: SpoolReader, ahead: [[UInt8]], _ fields: HTTPFields,
        _ cacheStatus: CacheStatus
    ) async throws {
        let limit = request.settings.maxJSONSize
        var bytes = Array(ahead.joined())
        while bytes.count <= limit, let piece = try await next(of: reader) { bytes += piece }
        guard bytes.count <= limit else {
            reader.cancel()
            throw ResourceAnswer.marked(ListOverlay.tooLarge, cacheStatus)
        }
        let fields = Validation.stripped(Secrets.removed(from: fields, settings: request.settings))
        if let list = try await overlay.composed(bytes, fields: fields) {
            try await serve(composed: list, forwarded: cacheStatus)
            return
        }
        let content = Content(digest: context.digest(bytes), length: Int64(bytes.count), inline: bytes)
        try await stored.send(
            Representation(
                status: head.status, fields: fields, content: content, etag: fields["ETag"],
                lastModified: fields["Last-Modified"], age: nil, syncState: syncState), cacheStatus)
    }

    /// The next piece of the origin's body, before anything is answered.
    private func next(of reader: SpoolReader) async throws -> [UInt8]? {
        do {
            return try await reader.next()
        } catch let error as OriginError {
            throw ResourceAnswer.marked(
                OriginFailure.problem(error, isHTTPCache: policy.fetchPolicy == .httpCache), CacheStatus(forward: .miss)
            )
        }
    }
}
