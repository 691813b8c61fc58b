/// Which expired copies are fetched again without anybody asking (seeds/semantics 1.2, `periodicRefreshPolicy`).
package enum PeriodicRefreshPolicy: String, Sendable, Hashable, CaseIterable {
    case none = "PERIODIC_REFRESH_POLICY_REFRESH_NONE"
    /// Once, when the service starts.
    case atStartup = "PERIODIC_REFRESH_POLICY_REFRESH_EXPIRED_ITEM_ON_START_UP"
    /// At the start, and each `periodicRefreshInterval` after it.
    case periodically = "PERIODIC_REFRESH_POLICY_PERIODICALLY_REFRESH_EXPIRED_ITEMS"

    private static let prefix = "PERIODIC_REFRESH_POLICY_"

    /// The constant's name in any case, with `-` for `_` and also without its prefix; the SDK's other spelling,
    /// `…_ON_STARTUP`, too. nil for anything else.
    package init?(text: String) {
        var name = text.replacingDashes.uppercased()
        if name.hasPrefix(Self.prefix) { name.removeFirst(Self.prefix.count) }
        if name == "REFRESH_EXPIRED_ITEM_ON_STARTUP" { name = "REFRESH_EXPIRED_ITEM_ON_START_UP" }
        self.init(rawValue: Self.prefix + name)
    }
}
