import CacheCore
import HTTPModel
import Testing

@Suite("Freshness (RFC 9111 4.2)")
struct FreshnessTests {
    private func lifetime(_ copy: ServerCopy, isShared: Bool = false, policy: Policy = Policy()) -> Double {
        Freshness.lifetime(
            of: copy, policy: policy, isShared: isShared, epoch: 1, targetedFields: ["CDN-Cache-Control"])
    }

    @Test(
        "4.2.1: s-maxage counts when shared, then max-age, then Expires",
        arguments: [
            (["Cache-Control": "max-age=60, s-maxage=5"], false, 60.0),
            (["Cache-Control": "max-age=60, s-maxage=5"], true, 5.0),
            (["Cache-Control": "max-age=60", "Expires": date(2000)], false, 60.0),
            (["Date": date(1000), "Expires": date(1300)], false, 300.0),
            (["Expires": "0"], false, 0.0),
            (["Cache-Control": "no-cache, max-age=60"], false, 0.0),
            (["CDN-Cache-Control": "max-age=7", "Cache-Control": "max-age=60"], true, 7.0),
            (["CDN-Cache-Control": "max-age=7;x, ,", "Cache-Control": "max-age=60"], true, 60.0),
        ] as [(HTTPFields, Bool, Double)])
    func lifetimes(fields: HTTPFields, isShared: Bool, expected: Double) {
        #expect(lifetime(makeCopy(fields), isShared: isShared) == expected)
    }

    @Test(
        "4.2.2: heuristics take a tenth of the age at the origin, a day at most, for statuses that allow it",
        arguments: [
            (200, 1000.0, false, 100.0), (200, 10_000_000.0, false, 86400.0), (404, 1000.0, false, 100.0),
            (302, 1000.0, false, 0.0), (200, -50.0, false, 0.0), (200, 1000.0, true, 0.0),
        ])
    func heuristics(status: Int, unmodifiedFor: Double, explicitOnly: Bool, expected: Double) {
        let now = 1_700_000_000.0
        let copy = makeCopy(
            ["Date": date(now), "Last-Modified": date(now - unmodifiedFor)], status: status, at: now,
            explicitOnly: explicitOnly)
        #expect(lifetime(copy) == expected)
    }

    @Test(
        "4.2.3: the age is the larger of apparent and corrected age, and grows here",
        arguments: [
            (["Date": date(1000)], 0.0, 10.0), (["Date": date(990)], 0.0, 20.0),
            (["Date": date(1000), "Age": "30"], 2.0, 42.0), (["Date": date(2000)], 0.0, 10.0),
            (["Age": "30, 5"], 0.0, 40.0), (["Age": "x"], 0.0, 10.0),
        ] as [(HTTPFields, Double, Double)])
    func ages(fields: HTTPFields, delay: Double, expected: Double) {
        #expect(Freshness.currentAge(of: makeCopy(fields, delay: delay), now: 1010) == expected)
    }

    @Test("The expiration policy replaces the lifetime, but not no-cache under HTTP_CACHE")
    func expirationPolicies() {
        let copy = makeCopy(["Cache-Control": "max-age=5"])
        #expect(lifetime(copy, policy: Policy { $0.expirationPolicy = .neverExpire }) == Freshness.forever)
        let after = Policy {
            $0.expirationPolicy = .expireAfter
            $0.expireAfter = 9
        }
        #expect(lifetime(copy, policy: after) == 9)
        #expect(lifetime(makeCopy(["Cache-Control": "no-cache"]), policy: after) == 0)
        #expect(lifetime(copy, policy: Policy { $0.expirationPolicy = .expireAfter }) == Freshness.forever)
        let onRestart = Policy { $0.expirationPolicy = .expireOnRestart }
        #expect(lifetime(copy, policy: onRestart) == Freshness.forever)
        #expect(lifetime(makeCopy([:], epoch: 0), policy: onRestart) == 0)
    }

    @Test("What was invalidated or is known from a list only is stale")
    func invalidated() {
        for copy in [
            makeCopy(["Cache-Control": "max-age=60"], isExpired: true),
            makeCopy(["Cache-Control": "max-age=60"], isListed: true),
        ] {
            let rest = Freshness.timeToLive(
                of: copy, policy: Policy(), isShared: false, epoch: 1, targetedFields: [], now: 1001)
            #expect(rest <= 0)
        }
    }
}
