package import HTTPModel

/// The cache directives that govern a stored answer: those of the first targeted field that is present and can be read
/// (RFC 9213), else those of Cache-Control.
package struct Directives: Sendable {
    package var control: CacheControl
    /// Whether a targeted field governs: Cache-Control and Expires are then without effect (RFC 9213 2.2).
    package var isTargeted: Bool

    /// `targetedFields`: names in order of preference.
    package init(of fields: HTTPFields, targetedFields: [String]) {
        for name in targetedFields {
            if let value = fields.combined(name), let targeted = CacheControl(targeted: value) {
                control = targeted
                isTargeted = true
                return
            }
        }
        control = CacheControl(response: fields)
        isTargeted = false
    }

    /// Whether the answer may not be stored. `no-store` beside `must-understand` is passed over for a status whose caching
    /// rules are known here (RFC 9111 5.2.2.3).
    package func forbidsStoring(status: Int) -> Bool {
        control.noStore && !(control.mustUnderstand && Self.understoodStatuses.contains(status))
    }

    /// Whether the origin asks that the status be understood, and it is not (RFC 9111 3).
    package func isBeyond(status: Int) -> Bool {
        control.mustUnderstand && !Self.understoodStatuses.contains(status)
    }

    /// Whether it must not be used stale without the origin's word (RFC 9111 4.2.4).
    package func forbidsStale(isShared: Bool) -> Bool {
        control.mustRevalidate || control.noCache
            || isShared && (control.proxyRevalidate || control.sMaxAge != nil)
    }

    /// Statuses that may be stored and be fresh by heuristics without being told so (RFC 9110 15.1).
    package static let heuristicStatuses: Set<Int> = [200, 203, 204, 206, 300, 301, 308, 404, 405, 410, 414, 501]

    /// Statuses whose caching rules are implemented here.
    private static let understoodStatuses: Set<Int> = [
        200, 203, 204, 300, 301, 302, 303, 307, 308, 404, 410,
    ]
}
