package import HTTPModel

/// Whether an answer is kept, and if not why: a word for `detail` of Cache-Status.
package struct StoreDecision: Sendable, Hashable {
    package var store: Bool
    package var reason: String?

    package static let yes = StoreDecision(store: true, reason: nil)
    package static func no(_ reason: String) -> StoreDecision { StoreDecision(store: false, reason: reason) }

    package init(store: Bool, reason: String?) {
        self.store = store
        self.reason = reason
    }
}

/// Which answers become server copies (design 1, "server copy"; RFC 9111 3).
package enum Storability {
    /// Judges a final answer of the origin to a request of the partition. `isShared`: the partition is none.
    /// `isDelimited`: the end of the body is proven by a length, chunks or a digest.
    ///
    /// Reasons: `NO_CACHE` (the policy), `METHOD`, `STATUS`, `PARTIAL`, `NO_STORE`, `PRIVATE`, `AUTHORIZATION`, `NO_FRESHNESS`,
    /// `UNDELIMITED`.
    package static func mayStore(
        method: HTTPMethod, requestFields: HTTPFields, status: Int, fields: HTTPFields, policy: Policy, isShared: Bool,
        isDelimited: Bool, targetedFields: [String] = []
    ) -> StoreDecision {
        guard !policy.noCache else { return .no("NO_CACHE") }
        guard method == .get else { return .no("METHOD") }
        guard status != 206, status != 304 else { return .no("PARTIAL") }
        guard (200...399).contains(status) || status == 404 || status == 410 else { return .no("STATUS") }
        return byDirectives(
            requestFields: requestFields, status: status, fields: fields, policy: policy, isShared: isShared,
            isDelimited: isDelimited, targetedFields: targetedFields)
    }

    /// Whether an error, which never becomes a server copy, may be given again while it is fresh (RFC 9111 3). Those that tell
    /// of one client or one moment may not.
    package static func mayRepeat(
        method: HTTPMethod, requestFields: HTTPFields, status: Int, fields: HTTPFields, policy: Policy, isShared: Bool,
        isDelimited: Bool, targetedFields: [String] = []
    ) -> Bool {
        guard policy.fetchPolicy == .httpCache, !policy.noCache, method == .get, (400...599).contains(status),
            !momentary.contains(status)
        else { return false }
        return byDirectives(
            requestFields: requestFields, status: status, fields: fields, policy: policy, isShared: isShared,
            isDelimited: isDelimited, targetedFields: targetedFields
        ).store
    }

    /// 412 and 416 are about fields of the request that don't select an answer.
    private static let momentary: Set<Int> = [401, 403, 407, 408, 412, 416, 421, 425, 429, 511]

    private static func byDirectives(
        requestFields: HTTPFields, status: Int, fields: HTTPFields, policy: Policy, isShared: Bool, isDelimited: Bool,
        targetedFields: [String]
    ) -> StoreDecision {
        let directives = Directives(of: fields, targetedFields: targetedFields)
        if CacheControl(request: requestFields).noStore { return .no("NO_STORE") }
        if policy.respectNoStore, directives.forbidsStoring(status: status) { return .no("NO_STORE") }
        if policy.fetchPolicy == .httpCache {
            let decision = byProtocol(
                requestFields: requestFields, status: status, fields: fields, policy: policy, isShared: isShared,
                directives: directives)
            guard decision.store else { return decision }
        }
        return isDelimited ? .yes : .no("UNDELIMITED")
    }

    /// The rest of RFC 9111 3 and 3.5.
    private static func byProtocol(
        requestFields: HTTPFields, status: Int, fields: HTTPFields, policy: Policy, isShared: Bool,
        directives: Directives
    ) -> StoreDecision {
        let control = directives.control
        guard !directives.isBeyond(status: status) else { return .no("STATUS") }
        if isShared {
            if control.isPrivate { return .no("PRIVATE") }
            if requestFields.contains("Authorization"),
                !control.isPublic, !control.mustRevalidate, control.sMaxAge == nil
            {
                return .no("AUTHORIZATION")
            }
        }
        let isExplicit =
            control.isPublic || control.isPrivate || control.maxAge != nil || isShared && control.sMaxAge != nil
            || !directives.isTargeted && fields.contains("Expires") || policy.expirationPolicy != .httpFreshness
        guard isExplicit || Directives.heuristicStatuses.contains(status) else { return .no("NO_FRESHNESS") }
        return .yes
    }
}
