package import HTTPModel

/// The preconditions of a request against a stored representation (RFC 9110 13).
package enum Conditional {
    package enum Verdict: Sendable, Hashable {
        case proceed
        /// 304.
        case notModified
        /// 412.
        case failed
    }

    /// The order of RFC 9110 13.2.2. `exists`: whether there is a representation; its validators as they are sent. `now` in
    /// seconds since 1970. Dates that can't be read are passed over (RFC 9110 13.1.3, 13.1.4). `received`: the Date of a
    /// stored answer, which stands in for a missing Last-Modified against If-Modified-Since (RFC 9111 4.3.2).
    package static func evaluate(
        request: HTTPFields, method: HTTPMethod, etag: String?, lastModified: String?, received: String? = nil,
        exists: Bool, now: Double
    ) -> Verdict {
        let tag = etag.map { ETag($0) }
        let isRead = method == .get || method == .head
        if let condition = EntityTagCondition(request, "If-Match") {
            guard exists, condition.matchesStrongly(tag) else { return .failed }
        } else if exists, let since = request["If-Unmodified-Since"], let lastModified,
            isModified(lastModified, after: since, now: now) == true
        {
            return .failed
        }
        if let condition = EntityTagCondition(request, "If-None-Match") {
            if exists, condition.matchesWeakly(tag) { return isRead ? .notModified : .failed }
        } else if isRead, exists, let since = request["If-Modified-Since"], let changed = lastModified ?? received,
            isModified(changed, after: since, now: now) == false
        {
            return .notModified
        }
        return .proceed
    }

    /// Whether Range is obeyed: there is no If-Range, or its validator is strongly the current one (RFC 9110 13.1.5). `date`: when the
    /// representation was current, by the origin's clock; nil: now.
    package static func rangeApplies(
        request: HTTPFields, etag: String?, lastModified: String?, date: String?, now: Double
    ) -> Bool {
        guard let condition = request["If-Range"]?.trimmingFieldSpace else { return true }
        if let since = HTTPDate(String(condition), now: now) {
            guard let lastModified, let modified = HTTPDate(lastModified, now: now) else { return false }
            // Of its own second a date names no version: another may have followed within it (RFC 9110 8.8.2.2).
            let current = date.flatMap { HTTPDate($0, now: now) }.map { Double($0.seconds) } ?? now
            return modified == since && Double(modified.seconds) + 1 <= current
        }
        return etag.map { ETag($0).strongMatches(ETag(String(condition))) } ?? false
    }

    /// nil where a date can't be read. The same text is never modified, whatever it says.
    private static func isModified(_ lastModified: String, after since: String, now: Double) -> Bool? {
        if lastModified == since { return false }
        guard let modified = HTTPDate(lastModified, now: now), let since = HTTPDate(since, now: now) else {
            return nil
        }
        return modified > since
    }
}
