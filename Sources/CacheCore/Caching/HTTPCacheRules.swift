import HTTPModel

/// HTTP_CACHE: when a stored answer is used, validated or refused (RFC 9111 4, 5.2.1; RFC 5861).
struct HTTPCacheRules {
    let copies: [ServerCopy]
    /// The copy that the request selects.
    let copy: ServerCopy?
    let timeToLive: Double
    let request: CacheControl
    let policy: Policy
    let isOnline: Bool
    let isShared: Bool
    let targetedFields: [String]
    let now: Double

    func plan() -> ReadPlan {
        guard let copy else {
            return isOnline && !request.onlyIfCached
                ? .origin(revalidate: copies, stale: .never, fwd: copies.isEmpty ? "uri-miss" : "vary-miss")
                : .refuse(refusal, refresh: false)
        }
        let directives = Directives(of: copy.fields, targetedFields: targetedFields)
        let rest = requestedTimeToLive(of: copy)
        if !request.noCache {
            if rest > 0, rest >= Double(request.minFresh ?? 0) {
                return .copy(copy, refresh: false, detail: nil, isStale: false)
            }
            // Invalidated copies need the origin's word (RFC 9111 4.4).
            let mayBeStale = !copy.isExpired && !copy.isListed && !directives.forbidsStale(isShared: isShared)
            if mayBeStale, isWithinMaxStale(-rest) {
                return .copy(copy, refresh: false, detail: "STALE", isStale: true)
            }
            if mayBeStale, timeToLive <= 0, rest == timeToLive, request.minFresh == nil, !request.onlyIfCached,
                let window = directives.control.staleWhileRevalidate, -timeToLive <= Double(window)
            {
                return .copy(copy, refresh: isOnline, detail: "STALE", isStale: true)
            }
        }
        let stale = staleUse(of: copy, directives: directives)
        guard isOnline, !request.onlyIfCached else {
            guard !isOnline, let stale = stale.copy ?? disconnectedCopy(copy, directives: directives) else {
                return .refuse(refusal, refresh: false)
            }
            return .copy(stale, refresh: false, detail: "STALE", isStale: timeToLive <= 0)
        }
        return .origin(revalidate: copies, stale: stale, fwd: timeToLive > 0 ? "request" : "stale")
    }

    /// The time to live that the client's own max-age leaves (RFC 9111 5.2.1.1).
    private func requestedTimeToLive(of copy: ServerCopy) -> Double {
        guard let limit = request.maxAge else { return timeToLive }
        // `max-age=0` asks for validation, so an age of exactly the limit is refused too.
        return min(timeToLive, Double(limit) - Freshness.currentAge(of: copy, now: now))
    }

    private func isWithinMaxStale(_ staleness: Double) -> Bool {
        switch request.maxStale {
        case nil: false
        case .any: true
        case .seconds(let seconds): staleness <= Double(seconds)
        }
    }

    private func staleUse(of copy: ServerCopy, directives: Directives) -> StaleUse {
        if policy.offlineReads == .allowStale { return isSuccess(copy) ? .onErrorOrDelay(copy) : .never }
        guard !copy.isExpired, !copy.isListed, !request.noCache, !directives.forbidsStale(isShared: isShared) else {
            return .never
        }
        // The request may ask for it too (RFC 5861 4).
        let windows = [directives.control.staleIfError, request.staleIfError].compactMap { $0 }
        guard let window = windows.max(), -timeToLive <= Double(window) else { return .never }
        return .onError(copy)
    }

    /// Without the origin a redirect or "gone" is still told under ALLOW_STALE, where RFC 9111 4.2.4 has nothing against it.
    private func disconnectedCopy(_ copy: ServerCopy, directives: Directives) -> ServerCopy? {
        policy.offlineReads == .allowStale && !isSuccess(copy) && !directives.forbidsStale(isShared: isShared)
            ? copy : nil
    }

    private func isSuccess(_ copy: ServerCopy) -> Bool { (200...299).contains(copy.status) }

    private var refusal: Problem {
        if request.onlyIfCached {
            return Problem(.onlyIfCached, "The request asks for a stored answer only, and none may be used.")
        }
        return Problem(
            .offlineGateway, "Nothing usable is stored. Ask again when the origin is reachable.",
            fields: ["Retry-After": "1"])
    }
}
