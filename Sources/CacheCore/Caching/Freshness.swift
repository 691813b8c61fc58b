import HTTPModel

/// How old a server copy is and how long it may be used (RFC 9111 4.2). Times in seconds.
package enum Freshness {
    /// Stands for "for ever": finite, so that it can be turned into whole seconds.
    package static let forever = 1e12

    /// The longest heuristic lifetime.
    private static let heuristicLimit = 86400.0

    /// The age of the copy at `now` (RFC 9111 4.2.3).
    package static func currentAge(of copy: ServerCopy, now: Double) -> Double {
        let apparent = max(0, copy.responseTime - date(of: copy))
        let corrected = ageField(of: copy.fields) + max(0, copy.responseTime - copy.requestTime)
        return max(apparent, corrected) + max(0, now - copy.responseTime)
    }

    /// A time to live or an age as answers state it: whole seconds, at most those that stand for ever, whatever a clock, an
    /// origin or a snapshot made of it.
    package static func wholeSeconds(_ seconds: Double) -> Int {
        Int(exactly: min(max(seconds, -forever), forever).rounded(.down)) ?? 0
    }

    /// How long the copy is fresh from age 0 on (RFC 9111 4.2.1), or what the expiration policy says instead. 0 for what must
    /// always be validated. `epoch`: the store's start counter now.
    package static func lifetime(
        of copy: ServerCopy, policy: Policy, isShared: Bool, epoch: Int64, targetedFields: [String]
    ) -> Double {
        let directives = Directives(of: copy.fields, targetedFields: targetedFields)
        if policy.fetchPolicy == .httpCache, directives.control.noCache { return 0 }
        switch policy.expirationPolicy {
        case .neverExpire: return forever
        case .expireAfter: return Double(max(0, policy.expireAfter))
        case .expireOnRestart: return copy.epoch == epoch ? forever : 0
        case .httpFreshness: return originLifetime(of: copy, directives: directives, isShared: isShared)
        }
    }

    /// How long the copy stays fresh after `now`; 0 and below: stale by that. Where the SDK's own policies rule (another fetch
    /// policy than HTTP_CACHE with an expiration policy of its own), time counts from when the copy was received.
    package static func timeToLive(
        of copy: ServerCopy, policy: Policy, isShared: Bool, epoch: Int64, targetedFields: [String], now: Double
    ) -> Double {
        let isByPolicy = policy.fetchPolicy != .httpCache && policy.expirationPolicy != .httpFreshness
        let age = isByPolicy ? max(0, now - copy.responseTime) : currentAge(of: copy, now: now)
        let lifetime = lifetime(
            of: copy, policy: policy, isShared: isShared, epoch: epoch, targetedFields: targetedFields)
        let rest = lifetime - age
        return copy.isExpired || copy.isListed ? min(rest, -age) : rest
    }

    private static func originLifetime(of copy: ServerCopy, directives: Directives, isShared: Bool) -> Double {
        let control = directives.control
        guard !control.noCache, !directives.forbidsStoring(status: copy.status) else { return 0 }
        if isShared, let seconds = control.sMaxAge { return Double(seconds) }
        if let seconds = control.maxAge { return Double(seconds) }
        if !directives.isTargeted, let expires = copy.fields["Expires"] {
            // A date that can't be read, "0" above all, is in the past (RFC 9111 5.3).
            guard let moment = HTTPDate(expires, now: copy.responseTime) else { return 0 }
            return max(0, Double(moment.seconds) - date(of: copy))
        }
        guard !copy.explicitFreshnessOnly, control.isPublic || Directives.heuristicStatuses.contains(copy.status),
            let text = copy.lastModified, let modified = HTTPDate(text, now: copy.responseTime)
        else { return 0 }
        return min(max(0, (date(of: copy) - Double(modified.seconds)) * 0.1), heuristicLimit)
    }

    /// The origin's Date; where it is missing or can't be read, when the answer came (RFC 9110 6.6.1).
    static func date(of copy: ServerCopy) -> Double {
        copy.fields["Date"].flatMap { HTTPDate($0, now: copy.responseTime) }.map { Double($0.seconds) }
            ?? copy.responseTime
    }

    /// The first member of Age; what is no number counts as absent (RFC 9111 5.1).
    private static func ageField(of fields: HTTPFields) -> Double {
        guard let first = fields["Age"].flatMap({ FieldList.split($0).first }), first.utf8.allSatisfy(\.isDigit) else {
            return 0
        }
        return min(Double(first) ?? 0, Double(CacheControl.longest))
    }
}
