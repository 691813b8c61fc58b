import CacheCore
import HTTPModel
import Testing

@Suite struct `How long an entry stays` {
    private let key = EntryKey(partition: .none, target: Target(unchecked: "/items/1"))

    private func entry(_ layer: PolicyLayer = PolicyLayer(), pin: PinPriority? = nil) -> Entry {
        let copy = ServerCopy(
            status: 200, fields: ["Cache-Control": "max-age=60"], content: .empty, requestTime: 1_000,
            responseTime: 1_000, epoch: 4)
        return Entry(key: key, copies: [copy], policy: layer, pin: pin)
    }

    private func table(_ json: String) throws -> PolicyTable {
        try PolicyTable(json: JSONValue(parsing: Array(json.utf8)), defaultJSON: nil)
    }

    @Test(
        "only what its path or itself leaves to room may go",
        arguments: [
            ("{}", "{}", true), (#"{"evictionPolicy":"MANUAL_EVICTION"}"#, "{}", false),
            (#"{"evictionPolicy":"EVICT_ON_EXPIRY_AT_STARTUP"}"#, "{}", false),
            (#"{"evictionPolicy":"MANUAL_EVICTION"}"#, #"{"evictionPolicy":"EVICT_WHEN_FULL"}"#, true),
            ("{}", #"{"evictionPolicy":"MANUAL_EVICTION"}"#, false),
        ])
    func evictable(configured: String, own: String, isEvictable: Bool) throws {
        let policies = try table(#"{"defaultPolicy":\#(configured)}"#)
        let layer = try PolicyLayer(json: JSONValue(parsing: Array(own.utf8)))
        #expect(entry(layer).isEvictable(under: policies) == isEvictable)
        #expect(!entry(layer, pin: .normal).isEvictable(under: policies))
    }

    @Test(
        "expiry follows the expiration policy of the path",
        arguments: [
            (#"{"expirationPolicy":"NEVER_EXPIRE"}"#, 4, 9e9, false),
            (#"{"expirationPolicy":"EXPIRE_ON_RESTART"}"#, 4, 9e9, false),
            (#"{"expirationPolicy":"EXPIRE_ON_RESTART"}"#, 5, 1_001.0, true),
            (#"{"expirationPolicy":"EXPIRE_AFTER","expireAfter":"10"}"#, 4, 1_009.0, false),
            (#"{"expirationPolicy":"EXPIRE_AFTER","expireAfter":"10"}"#, 4, 1_010.0, true),
            ("{}", 5, 1_059.0, false), ("{}", 4, 1_060.0, true),
        ])
    func expiry(configured: String, epoch: Int64, now: Double, hasExpired: Bool) throws {
        let policy = entry().policy(
            under: try table(
                #"{"policies":[{"path":"/items/*","noCache":false}],"# + #""defaultPolicy":\#(configured)}"#))
        #expect(entry().hasExpired(under: policy, epoch: epoch, targetedFields: [], now: now) == hasExpired)
    }

    @Test func `An entry goes by age only without a pin, and leaves its own policy behind`() {
        var layer = PolicyLayer()
        layer.noCache = false
        #expect(entry().goes(ifOlderThan: 1_001))
        #expect(!entry().goes(ifOlderThan: 1_000))
        #expect(!entry(pin: .high).goes(ifOlderThan: 2_000))
        #expect(entry().withoutCopies == nil)
        #expect(entry(layer).withoutCopies == Entry(key: key, policy: layer))
    }

    @Test(
        "periodicRefreshPolicy is taken in each of its spellings",
        arguments: [
            ("PERIODIC_REFRESH_POLICY_REFRESH_NONE", PeriodicRefreshPolicy.none),
            ("PERIODIC_REFRESH_POLICY_REFRESH_EXPIRED_ITEM_ON_START_UP", .atStartup),
            ("PERIODIC_REFRESH_POLICY_REFRESH_EXPIRED_ITEM_ON_STARTUP", .atStartup),
            ("periodic-refresh-policy-periodically-refresh-expired-items", .periodically),
            ("REFRESH_NONE", .none),
        ])
    func spelling(text: String, policy: PeriodicRefreshPolicy) {
        #expect(PeriodicRefreshPolicy(text: text) == policy)
        #expect(PeriodicRefreshPolicy(text: text + "S") == nil)
    }
}
