/// What Holdfast did with a request: its member of `Cache-Status` (RFC 9211).
package struct CacheStatus: Sendable, Hashable, CustomStringConvertible {
    /// Why a request went forward (RFC 9211 2.2).
    package enum ForwardReason: String, Sendable, Hashable {
        /// Configured not to handle it.
        case bypass
        /// Because of its method.
        case method
        case uriMiss = "uri-miss"
        case varyMiss = "vary-miss"
        case miss
        /// Because of its directives.
        case request
        case stale
        /// Only a part is stored.
        case partial
    }

    /// Answered from what is stored, without going forward.
    package var hit: Bool
    package var forward: ForwardReason?
    /// The status that the next hop answered, where it differs from what is sent on or is of interest.
    package var forwardStatus: Int?
    /// Remaining freshness in whole seconds; negative when stale.
    package var ttl: Int?
    /// The answer was stored.
    package var stored: Bool
    /// The request waited for another one.
    package var collapsed: Bool
    package var key: String?
    /// Written as a token where it can be one, else as a string.
    package var detail: String?

    package init(
        hit: Bool = false, forward: ForwardReason? = nil, forwardStatus: Int? = nil, ttl: Int? = nil,
        stored: Bool = false, collapsed: Bool = false, key: String? = nil, detail: String? = nil
    ) {
        self.hit = hit
        self.forward = forward
        self.forwardStatus = forwardStatus
        self.ttl = ttl
        self.stored = stored
        self.collapsed = collapsed
        self.key = key
        self.detail = detail
    }

    /// A hit with its remaining freshness.
    package static func hit(ttl: Int? = nil, detail: String? = nil) -> CacheStatus {
        CacheStatus(hit: true, ttl: ttl, detail: detail)
    }

    /// A request that went forward.
    package static func forward(_ reason: ForwardReason, status: Int? = nil, stored: Bool = false) -> CacheStatus {
        CacheStatus(forward: reason, forwardStatus: status, stored: stored)
    }

    /// The list member, e.g. `Holdfast; hit; ttl=30`.
    package var text: String {
        var text = "Holdfast"
        text.reserveCapacity(64)
        if hit { text += "; hit" }
        if let forward {
            text += "; fwd="
            text += forward.rawValue
        }
        if let forwardStatus {
            text += "; fwd-status="
            text += String(forwardStatus)
        }
        if let ttl {
            text += "; ttl="
            text += String(ttl)
        }
        if stored { text += "; stored" }
        if collapsed { text += "; collapsed" }
        if let key { text += "; key=\(Self.string(key))" }
        if let detail { text += "; detail=\(SFBareItem.isToken(detail) ? detail : Self.string(detail))" }
        return text
    }

    package var description: String { text }

    /// The field value with what earlier caches wrote in front; `existing` are the lines received (RFC 9211 2).
    package func appended(to existing: [String]) -> String {
        if existing.isEmpty { return text }
        return (existing.map { String($0.trimmingFieldSpace) }.filter { !$0.isEmpty } + [text]).joined(separator: ", ")
    }

    /// A structured string; what it can't hold is percent-encoded.
    private static func string(_ text: String) -> String {
        FieldList.quote(Percent.encode(text) { $0 >= 0x20 && $0 <= 0x7E })
    }
}
