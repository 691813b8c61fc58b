package import HTTPModel

/// What a status means for a write that was sent (design 5, "Once in effect", "Retry", "Redirects").
package enum AnswerClass: Sendable, Hashable {
    /// In effect: 2xx, and 303 to a POST.
    case applied
    /// 408, 425, 429, 500, 503: taken at their word, not applied; tried again.
    case notApplied
    /// 502, 504 and further 5xx of servers in between: it may have been applied.
    case unknown
    /// 401, 407: pauses the identity.
    case credential
    /// 409, 412.
    case refused
    /// 404, 410.
    case gone
    /// 307, 308: followed within the origin.
    case follow
    /// Other 3xx: a portal, or failed.
    case redirected
    /// 403, 501, 505 and other 4xx.
    case failed

    package init(status: Int, method: HTTPMethod) {
        self =
            switch status {
            case 200...299: .applied
            case 303 where method == .post: .applied
            case 307, 308: .follow
            case 300...399: .redirected
            case 401, 407: .credential
            case 404, 410: .gone
            case 409, 412: .refused
            case 408, 425, 429, 500, 503: .notApplied
            case 501, 505: .failed
            case 511: .redirected
            case 500...599: .unknown
            default: .failed
            }
    }
}
