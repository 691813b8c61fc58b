import CacheCore
import HTTPModel

/// One GET or HEAD on its way: plan, store, origin.
struct Read: Sendable {
    let context: ServiceContext
    let counters: Counters
    let flights: Flights
    let errors: ErrorAnswers
    let request: ResourceRequest
    let exchange: any Exchange
    let policy: Policy
    let entry: Entry?
    /// The request's fields with edits' tags replaced.
    let conditions: HTTPFields
    let syncState: String
    /// nil where the answer must not be prepared for the view.
    let isPublishable: HitPublisher?
    let ticket: UInt64
    /// nil where the entry is not looked up again.
    let flightTicket: UInt64?

    /// The effective copy of an edit; the plan only says whether the origin is asked for the server copy meanwhile.
    func answer(_ edit: LocalEdit, isOnline: Bool) async throws {
        noteIdentity()
        if isOnline, !policy.noCache {
            switch plan(isOnline: true) {
            case .origin, .copy(_, refresh: true, _, _), .refuse(_, refresh: true): refresh()
            case .copy, .refuse: break
            }
        }
        let cacheStatus = CacheStatus.hit(detail: "LOCAL_EDIT")
        guard let content = edit.content else {
            throw ResourceAnswer.marked(
                Problem(.notFound, "It was deleted here; the delete is not yet delivered."), cacheStatus,
                syncState: edit.syncState)
        }
        counters.hit(request.key)
        try await stored.send(Representation(edit, content: content), cacheStatus)
    }

    /// After a restart the read of an edit may be the first sign of the identity that it is delivered for.
    private func noteIdentity() {
        if request.isProven { context.credentials.offered(request.credentials, for: request.key.partition) }
    }

    /// The effective copy as far as it is kept here; nil where nothing is.
    func kept(_ edit: LocalEdit?) -> Representation? {
        if let edit, !request.persistentState { return edit.content.map { Representation(edit, content: $0) } }
        guard !policy.noCache, let copy = Selecting.choose(entry?.copies ?? [], request: request.head.fields) else {
            return nil
        }
        return Representation(copy, syncState: syncState, now: context.clock.now)
    }

    /// The server copy, or the origin's answer, by the truth table.
    func answer(isOnline: Bool) async throws {
        if try await answerFromParts(isOnline: isOnline) { return }
        switch plan(isOnline: isOnline) {
        case .copy(let copy, let wantsRefresh, let detail, let isStale):
            if wantsRefresh { refresh() }
            if isOnline, ![.fetchFromCache, .fetchFromCacheScheduleRefresh].contains(policy.fetchPolicy),
                overlay.usable([copy]).isEmpty
            {
                try await ask(revalidate: [], stale: .onUnreachable(copy), forward: .bypass)
                return
            }
            do {
                try await serve(copy, detail: detail, isStale: isStale)
            } catch let error as StoreError {
                guard isOnline else { throw error }
                // Bytes that can't be read are as good as none: the origin has them.
                context.log.write(.error, "a stored body could not be read", [("error", "\(error)")])
                try await ask(revalidate: [], stale: .never, forward: .miss)
            }
        case .origin(let revalidate, let stale, let forward):
            if request.isTemporary {
                throw ResourceAnswer.marked(
                    Problem(.notCached, "The resource is not yet created at the origin."), CacheStatus(),
                    syncState: syncState)
            }
            if let error = repeatableError {
                if stale.covers(status: error.status), let copy = stale.copy {
                    return try await serve(copy, detail: "STALE", isStale: true)
                }
                return try await serve(error, detail: nil, isStale: false)
            }
            try await ask(
                // Of a body that is gone the origin is asked for the bytes: 304 would leave nothing to answer with.
                revalidate: overlay.usable(revalidate).filter { context.store.holds($0.content) }, stale: stale,
                forward: CacheStatus.ForwardReason(rawValue: forward) ?? .miss)
        case .refuse(let problem, let wantsRefresh):
            if wantsRefresh { refresh() }
            throw ResourceAnswer.marked(problem, CacheStatus(detail: isOnline ? nil : "OFFLINE"))
        }
    }

    /// An error of the origin's that the request may be answered with again.
    private var repeatableError: ServerCopy? {
        guard policy.fetchPolicy == .httpCache, request.isProven, let error = errors.answer(for: request.key),
            case .copy(let copy, _, _, isStale: false) = plan(
                Entry(key: request.key, copies: [error]), isOnline: true)
        else { return nil }
        return copy
    }

    func plan(isOnline: Bool) -> ReadPlan { plan(entry, isOnline: isOnline) }

    func plan(_ entry: Entry?, isOnline: Bool) -> ReadPlan {
        ReadPlan.make(
            entry: entry, requestFields: request.head.fields, policy: policy, isOnline: isOnline,
            isShared: request.key.partition == .none, epoch: context.store.epoch,
            targetedFields: request.settings.targetedFields, now: context.clock.now)
    }

    var stored: StoredAnswer {
        StoredAnswer(context: context, request: request, conditions: conditions, exchange: exchange)
    }

    func timeToLive(of copy: ServerCopy) -> Double {
        Freshness.timeToLive(
            of: copy, policy: policy, isShared: request.key.partition == .none, epoch: context.store.epoch,
            targetedFields: request.settings.targetedFields, now: context.clock.now)
    }

    /// From the store. A copy that is the head of parts stands for them. `forwarded`: the origin was asked, and its answer is
    /// not used.
    func serve(_ copy: ServerCopy, detail: String?, isStale: Bool, forwarded: CacheStatus? = nil) async throws {
        counters.hit(request.key)
        if isStale { counters.count(.stale) }
        if let list = try await overlay.composed(Representation(copy, syncState: syncState, now: context.clock.now)) {
            try await serve(composed: list, forwarded: forwarded)
            return
        }
        let timeToLive = timeToLive(of: copy)
        var cacheStatus = forwarded ?? .hit()
        cacheStatus.ttl = Freshness.wholeSeconds(timeToLive)
        cacheStatus.detail = detail
        if let parts, parts.head == copy {
            try await stored.send(representation(of: parts), cacheStatus)
            return
        }
        if !isStale, detail == nil, timeToLive > 0, syncState == "synced",
            Selecting.isDecided(copy, among: entry?.copies ?? [])
        {
            await isPublishable?.publish(
                copy, request: request, policy: policy, timeToLive: timeToLive, ticket: ticket, context: context)
        }
        try await stored.send(
            Representation(copy, syncState: syncState, now: context.clock.now), cacheStatus)
    }

    var overlay: ListOverlay { ListOverlay(context: context, request: request) }

    /// A list with edits laid over. Its tags are its own: the request's conditions count as they came.
    func serve(composed list: Representation, forwarded: CacheStatus? = nil) async throws {
        noteIdentity()
        var cacheStatus = CacheStatus.hit(detail: "LOCAL_EDIT")
        cacheStatus.forwardStatus = forwarded?.forwardStatus
        try await StoredAnswer(context: context, request: request, conditions: request.head.fields, exchange: exchange)
            .send(list, cacheStatus)
    }

    /// Asks the origin in the background, once an entry.
    func refresh() {
        guard !request.isTemporary, context.network.state.isOnline else { return }
        let copies = entry?.copies ?? []
        let key = flightKey()
        guard let (flight, isNew) = flights.join(key), isNew else { return }
        counters.count(.refreshes)
        start(fetch(method: .get, fields: plainFields, revalidate: copies, hasReader: false), flight)
    }
}

extension ResourceRequest {
    /// Whether the target is one that a pending create got here; the origin never hears of it.
    var isTemporary: Bool { TemporaryTarget.matches(target) }
}
