import API
import CacheCore
import HTTPModel
import TestSupport
import Testing

/// What a read does.
enum Outcome: String, Sendable {
    case cache, origin, revalidate, notCached = "404", offline = "503", gateway = "504"
}

struct TruthRow: Sendable, CustomTestStringConvertible {
    var policy: FetchPolicy
    var state: String
    var isOnline: Bool
    var outcome: Outcome
    var testDescription: String { "\(policy.rawValue) \(state) \(isOnline ? "online" : "offline")" }

    /// Design 3, row by row: fresh, expired, miss; the same offline.
    static let all: [TruthRow] = [
        (FetchPolicy.fetchFromCache, [.cache, .cache, .notCached, .cache, .cache, .notCached]),
        (.fetchFromService, [.origin, .origin, .origin, .offline, .offline, .offline]),
        (.fetchFromServiceIfOnline, [.origin, .origin, .origin, .cache, .cache, .offline]),
        (.fetchFromServiceOnCacheMissOrExpiry, [.cache, .origin, .origin, .cache, .offline, .offline]),
        (.fetchFromServiceOnCacheMiss, [.cache, .cache, .origin, .cache, .cache, .offline]),
        (.fetchFromCacheScheduleRefresh, [.cache, .cache, .notCached, .cache, .cache, .notCached]),
        (.fetchWithRefresh, [.cache, .origin, .origin, .cache, .offline, .offline]),
        (.httpCache, [.cache, .origin, .origin, .cache, .cache, .gateway]),
    ].flatMap { (policy: FetchPolicy, outcomes: [Outcome]) in
        outcomes.enumerated().map { index, outcome in
            TruthRow(
                policy: policy, state: ["fresh", "expired", "miss"][index % 3], isOnline: index < 3, outcome: outcome)
        }
    }
}

@Suite("Truth table", .timeLimit(.minutes(1)))
struct TruthTableTests {
    let fixture = ReadFixture()

    @Test("each fetch policy reads as its row says", arguments: TruthRow.all)
    func row(_ row: TruthRow) async throws {
        if row.state != "miss" {
            try await fixture.know("/a", "stored", ["ETag": "\"1\""], age: row.state == "fresh" ? 0 : 100)
        }
        fixture.originSays(200, ["ETag": "\"2\"", "Cache-Control": "max-age=60"], "fresh from the origin")
        fixture.network.force(offline: !row.isOnline)
        let answer = await fixture.ask("/resources/a", ["Sync-Policy": "fetch-policy=\(row.policy.rawValue)"])
        let outcome: Outcome? =
            switch answer.status {
            case 200: answer.text == "stored" ? .cache : .origin
            default: Outcome(rawValue: String(answer.status))
            }
        #expect(outcome == row.outcome)
        #expect(answer.fields["Cache-Status"]?.contains("Holdfast") == true)
        if !row.isOnline { #expect(fixture.origin.requests.isEmpty) }
        if outcome == .origin, row.state != "miss" {
            #expect(fixture.origin.requests.first?.fields["If-None-Match"] == "\"1\"")
        }
        if row.outcome == .offline || row.outcome == .gateway {
            #expect(answer.fields["Content-Type"] == "application/problem+json")
            #expect(answer.fields["Retry-After"] != nil)
            // Where something is stored, what forbids it is named.
            #expect(answer.text.contains("that \(row.policy.rawValue) does not let answer") == (row.state != "miss"))
        }
    }
}
