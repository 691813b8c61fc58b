package import HTTPModel

/// What may be served if the origin, asked, fails. Everything here is a stored copy to be sent with `detail=STALE` (or
/// `OFFLINE` for `onUnreachable`).
package enum StaleUse: Sendable, Hashable {
    case never
    /// Where no connection can be made.
    case onUnreachable(ServerCopy)
    /// Where no connection can be made or no whole answer comes (RFC 9111 4.2.4, "disconnected").
    case onNoAnswer(ServerCopy)
    /// Where no connection can be made, no answer comes, or it is 500, 502, 503 or 504 (RFC 5861 4).
    case onError(ServerCopy)
    /// As `onError` for any 5xx, and where no first byte comes within `timeouts.stale`: the fetch goes on in the background
    /// (design 2, ALLOW_STALE).
    case onErrorOrDelay(ServerCopy)

    package var copy: ServerCopy? {
        switch self {
        case .never: nil
        case .onUnreachable(let copy), .onNoAnswer(let copy), .onError(let copy), .onErrorOrDelay(let copy): copy
        }
    }

    /// Whether the copy is served in place of an answer of that status.
    package func covers(status: Int) -> Bool {
        switch self {
        case .never, .onUnreachable, .onNoAnswer: false
        case .onError: status == 500 || (502...504).contains(status)
        case .onErrorOrDelay: (500...599).contains(status)
        }
    }

    /// Whether the copy is served where the origin gave no usable answer.
    package func covers(_ error: OriginError) -> Bool {
        switch (self, error) {
        case (.never, _), (_, .cancelled): false
        case (.onUnreachable, .unreachable): true
        case (.onUnreachable, _): false
        case (.onNoAnswer, _), (.onError, _), (.onErrorOrDelay, _): true
        }
    }
}

/// How a GET or HEAD is answered (design 3). Of the server copy alone; a pending edit is laid over it by the caller.
package enum ReadPlan: Sendable {
    /// From the store. `refresh`: ask the origin in the background. `detail`: for Cache-Status.
    case copy(ServerCopy, refresh: Bool, detail: String?, isStale: Bool)
    /// Ask the origin, with the validators of `revalidate` (empty: unconditionally); `fwd` is the reason of RFC 9211 2.2.
    case origin(revalidate: [ServerCopy], stale: StaleUse, fwd: String)
    case refuse(Problem, refresh: Bool)
}

extension ReadPlan {
    /// Applies the truth table of design 3, and RFC 9111 where HTTP_CACHE rules. `entry` of the request's partition, nil where
    /// there is none; `isShared`: the partition is none. Pure.
    package static func make(
        entry: Entry?, requestFields: HTTPFields, policy: Policy, isOnline: Bool, isShared: Bool, epoch: Int64,
        targetedFields: [String], now: Double
    ) -> ReadPlan {
        let copies = policy.noCache ? [] : entry?.copies ?? []
        let copy = Selecting.choose(copies, request: requestFields)
        let timeToLive = copy.map {
            Freshness.timeToLive(
                of: $0, policy: policy, isShared: isShared, epoch: epoch, targetedFields: targetedFields, now: now)
        }
        if policy.fetchPolicy == .httpCache {
            return HTTPCacheRules(
                copies: copies, copy: copy, timeToLive: timeToLive ?? 0,
                request: CacheControl(request: requestFields), policy: policy, isOnline: isOnline,
                isShared: isShared, targetedFields: targetedFields, now: now
            ).plan()
        }
        let isFresh = (timeToLive ?? 0) > 0
        return isOnline
            ? onlinePlan(policy.fetchPolicy, copies: copies, copy: copy, isFresh: isFresh)
            : offlinePlan(policy.fetchPolicy, copy: copy, isFresh: isFresh)
    }

    private static func onlinePlan(
        _ fetchPolicy: FetchPolicy, copies: [ServerCopy], copy: ServerCopy?, isFresh: Bool
    ) -> ReadPlan {
        let missed = copies.isEmpty ? "uri-miss" : "vary-miss"
        func ask(_ stale: StaleUse = .never) -> ReadPlan {
            let reason = copy == nil ? missed : isFresh ? "bypass" : "stale"
            return .origin(revalidate: copies, stale: stale, fwd: reason)
        }
        func serve(_ copy: ServerCopy, refresh: Bool = false) -> ReadPlan {
            .copy(copy, refresh: refresh, detail: nil, isStale: !isFresh)
        }
        switch fetchPolicy {
        case .fetchFromService, .httpCache:
            return ask()
        case .fetchFromServiceIfOnline:
            return ask(copy.map { .onUnreachable($0) } ?? .never)
        case .fetchFromCache:
            return copy.map { serve($0) } ?? .refuse(notCached, refresh: false)
        case .fetchFromCacheScheduleRefresh:
            return copy.map { serve($0, refresh: true) } ?? .refuse(notCached, refresh: true)
        case .fetchFromServiceOnCacheMiss:
            // What a write has made out of date is not an answer any more (design 4).
            return copy.flatMap { $0.isExpired ? nil : serve($0) } ?? ask(copy.map { .onUnreachable($0) } ?? .never)
        case .fetchFromServiceOnCacheMissOrExpiry:
            return copy.flatMap { isFresh ? serve($0) : nil } ?? ask()
        case .fetchWithRefresh:
            return copy.flatMap { isFresh ? serve($0, refresh: true) : nil } ?? ask()
        }
    }

    private static func offlinePlan(_ fetchPolicy: FetchPolicy, copy: ServerCopy?, isFresh: Bool) -> ReadPlan {
        let serve = copy.map { ReadPlan.copy($0, refresh: false, detail: "OFFLINE", isStale: !isFresh) }
        let offline = ReadPlan.refuse(offline(fetchPolicy, hasCopy: copy != nil), refresh: false)
        switch fetchPolicy {
        case .fetchFromService, .httpCache:
            return offline
        case .fetchFromCache, .fetchFromCacheScheduleRefresh:
            guard let copy else { return .refuse(notCached, refresh: false) }
            return .copy(copy, refresh: false, detail: nil, isStale: !isFresh)
        case .fetchFromServiceIfOnline, .fetchFromServiceOnCacheMiss:
            return serve ?? offline
        case .fetchFromServiceOnCacheMissOrExpiry, .fetchWithRefresh:
            // A member known from a list only is served offline, though never fresh (design 3, "Collections").
            guard isFresh || copy?.isListed == true else { return offline }
            return serve ?? offline
        }
    }

    static var notCached: Problem {
        Problem(.notCached, "Nothing is stored for this target and the fetch policy asks the cache alone.")
    }

    /// Under HTTP_CACHE it is 504 (RFC 9111 5.2.1.7), else 503. `hasCopy`: a copy that the request selects is kept, and the policy
    /// does not let it answer.
    static func offline(_ fetchPolicy: FetchPolicy, hasCopy: Bool) -> Problem {
        Problem(
            fetchPolicy == .httpCache ? .offlineGateway : .offline,
            hasCopy
                ? "A copy is stored that \(fetchPolicy.rawValue) does not let answer now. Ask again when the origin is reachable, "
                    + "or with Sync-Policy: fetch-policy=FETCH_FROM_CACHE."
                : "Nothing that fits is stored. Ask again when the origin is reachable.",
            fields: ["Retry-After": "1"])
    }
}
