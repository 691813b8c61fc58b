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
        if !request.noCache {
            if timeToLive > 0, timeToLive >= Double(request.minFresh ?? 0), isYoungEnough(copy) {
                return .copy(copy, refresh: false, detail: nil, isStale: false)
            }
            if timeToLive <= 0, mayBeStale(copy, directives) {
                if request.maxStale != nil, takesStale(copy) {
                    return .copy(copy, refresh: false, detail: "STALE", isStale: true)
                }
                if takesStale(copy), let window = directives.control.staleWhileRevalidate, -timeToLive <= Double(window)
                {
                    return .copy(copy, refresh: isOnline && !request.onlyIfCached, detail: "STALE", isStale: true)
                }
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

    /// Whether the copy's age is below the client's max-age (RFC 9111 5.2.1.1).
    private func isYoungEnough(_ copy: ServerCopy) -> Bool {
        // `max-age=0` asks for validation, so an age of exactly the limit is refused too.
        request.maxAge.map { Freshness.currentAge(of: copy, now: now) < Double($0) } ?? true
    }

    /// Whether neither the origin's directives nor an invalidation, which needs the origin's word (RFC 9111 4.4), stand
    /// against serving it stale.
    private func mayBeStale(_ copy: ServerCopy, _ directives: Directives) -> Bool {
        !copy.isExpired && !copy.isListed && !directives.forbidsStale(isShared: isShared)
    }

    /// Whether the request's directives let it be answered this stale: one with min-fresh, or max-age alone, wants no stale
    /// answer at all (RFC 9111 5.2.1).
    private func takesStale(_ copy: ServerCopy) -> Bool {
        guard request.minFresh == nil, isYoungEnough(copy) else { return false }
        switch request.maxStale {
        case nil: return request.maxAge == nil
        case .any: return true
        case .seconds(let seconds): return -timeToLive <= Double(seconds)
        }
    }

    private func staleUse(of copy: ServerCopy, directives: Directives) -> StaleUse {
        if policy.offlineReads == .allowStale { return isSuccess(copy) ? .onErrorOrDelay(copy) : .never }
        guard !request.noCache, mayBeStale(copy, directives), takesStale(copy) || request.staleIfError != nil else {
            return .never
        }
        // The request may ask for it too (RFC 5861 4). Where one of them says how long, that holds without a connection as well.
        let windows = [directives.control.staleIfError, request.staleIfError].compactMap { $0 }
        guard let window = windows.max() else { return .onNoAnswer(copy) }
        return -timeToLive <= Double(window) ? .onError(copy) : .never
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
        return ReadPlan.offline(.httpCache, hasCopy: copy != nil)
    }
}
