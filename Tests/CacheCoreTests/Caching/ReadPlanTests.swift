import CacheCore
import HTTPModel
import Testing

@Suite("Read plans (design 3, RFC 9111 4 and 5.2.1)")
struct ReadPlanTests {
    private func outcome(
        _ copy: ServerCopy?, policy: Policy, isOnline: Bool = true, request: HTTPFields = [:], now: Double = 1010
    ) -> String {
        let key = EntryKey(partition: .none, target: Target(unchecked: "/a"))
        let plan = ReadPlan.make(
            entry: copy.map { Entry(key: key, copies: [$0]) }, requestFields: request, policy: policy,
            isOnline: isOnline, isShared: false, epoch: 1, targetedFields: [], now: now)
        switch plan {
        case .copy(_, let refresh, _, let isStale):
            return (refresh ? "cache, refresh" : "cache") + (isStale ? " stale" : "")
        case .origin(_, let stale, _):
            switch stale {
            case .never: return "origin"
            case .onUnreachable: return "origin, unreachable"
            case .onNoAnswer: return "origin, no answer"
            case .onError: return "origin, error"
            case .onErrorOrDelay: return "origin, delay"
            }
        case .refuse(let problem, let refresh): return "\(problem.status)" + (refresh ? ", refresh" : "")
        }
    }

    /// Columns: fresh, expired, miss; offline fresh, offline expired, offline miss.
    private static let table: [(FetchPolicy, [String])] = [
        (.fetchFromCache, ["cache", "cache stale", "404", "cache", "cache stale", "404"]),
        (.fetchFromService, ["origin", "origin", "origin", "503", "503", "503"]),
        (
            .fetchFromServiceIfOnline,
            ["origin, unreachable", "origin, unreachable", "origin", "cache", "cache stale", "503"]
        ),
        (.fetchFromServiceOnCacheMissOrExpiry, ["cache", "origin", "origin", "cache", "503", "503"]),
        (.fetchFromServiceOnCacheMiss, ["cache", "cache stale", "origin", "cache", "cache stale", "503"]),
        (
            .fetchFromCacheScheduleRefresh,
            ["cache, refresh", "cache, refresh stale", "404, refresh", "cache", "cache stale", "404"]
        ),
        (.fetchWithRefresh, ["cache, refresh", "origin", "origin", "cache", "503", "503"]),
        (.httpCache, ["cache", "origin, delay", "origin", "cache", "cache stale", "504"]),
    ]

    @Test("The truth table holds for every fetch policy", arguments: table)
    func truthTable(fetchPolicy: FetchPolicy, expected: [String]) {
        let policy = Policy { $0.fetchPolicy = fetchPolicy }
        let copies = [makeCopy(["Cache-Control": "max-age=60"]), makeCopy(["Cache-Control": "max-age=1"]), nil]
        let found = [true, false].flatMap { isOnline in
            copies.map { outcome($0, policy: policy, isOnline: isOnline) }
        }
        #expect(found == expected)
    }

    private func honouring(_ request: String, _ response: String, isOnline: Bool) -> String {
        outcome(
            makeCopy(["Cache-Control": response]), policy: Policy { $0.offlineReads = .honourOrigin },
            isOnline: isOnline, request: ["Cache-Control": request])
    }

    @Test(
        "5.2.1: the request's directives",
        arguments: [
            ("no-cache", "max-age=60", true, "origin"), ("max-age=5", "max-age=60", true, "origin"),
            ("max-age=20", "max-age=60", true, "cache"), ("min-fresh=55", "max-age=60", true, "origin"),
            ("max-stale", "max-age=1", true, "cache stale"), ("max-stale=3", "max-age=1", true, "origin"),
            ("max-age=5, max-stale=99", "max-age=60", true, "origin"),
            ("min-fresh=1, max-stale", "max-age=1", true, "origin"),
            ("max-stale=30", "max-age=1, must-revalidate", true, "origin"),
            ("only-if-cached", "max-age=60", true, "cache"), ("only-if-cached", "max-age=1", true, "504"),
            ("max-stale", "max-age=1", false, "cache stale"),
        ])
    func directives(request: String, response: String, isOnline: Bool, expected: String) {
        #expect(honouring(request, response, isOnline: isOnline) == expected)
    }

    @Test(
        "4.2.4: without an answer of the origin a stale copy is used, unless the origin or the client forbids it",
        arguments: [
            ("x", "max-age=1", true, "origin, no answer"), ("x", "max-age=1", false, "cache stale"),
            ("x", "max-age=1, must-revalidate", false, "504"), ("x", "max-age=1, no-cache", false, "504"),
            ("min-fresh=1", "max-age=1", false, "504"), ("max-age=5", "max-age=1", false, "504"),
            ("max-stale=3", "max-age=1", false, "504"), ("no-cache", "max-age=60", false, "504"),
            ("x", "max-age=1, stale-if-error=3", false, "504"),
            ("x", "max-age=1, stale-if-error=60", false, "cache stale"),
        ])
    func disconnected(request: String, response: String, isOnline: Bool, expected: String) {
        #expect(honouring(request, response, isOnline: isOnline) == expected)
    }

    @Test(
        "RFC 5861: stale answers within their windows, never against must-revalidate",
        arguments: [
            ("max-age=1, stale-while-revalidate=60", "cache, refresh stale"),
            ("max-age=1, stale-while-revalidate=3", "origin, no answer"),
            ("max-age=1, stale-while-revalidate=60, must-revalidate", "origin"),
            ("max-age=1, stale-if-error=60", "origin, error"),
            ("max-age=1, stale-if-error=60, must-revalidate", "origin"),
        ])
    func staleWindows(response: String, expected: String) {
        let policy = Policy { $0.offlineReads = .honourOrigin }
        #expect(outcome(makeCopy(["Cache-Control": response]), policy: policy) == expected)
    }

    @Test("What a write has made out of date is asked for again, and still served offline")
    func invalidated() {
        let policy = Policy { $0.fetchPolicy = .fetchFromServiceOnCacheMiss }
        let copy = makeCopy(["Cache-Control": "max-age=60"], isExpired: true)
        #expect(outcome(copy, policy: policy) == "origin, unreachable")
        #expect(outcome(copy, policy: policy, isOnline: false) == "cache stale")
    }
}
