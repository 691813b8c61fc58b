import API
import CacheCore
import HTTPModel
import Synchronization
import TestSupport
import Testing

@Suite struct `The pages of actions` {
    private let fixture = ManagementFixture()

    private func submit(_ body: String, _ query: String = "", access: Access = .full) async throws -> WriteFixture.Reply
    {
        try await fixture.send(.post, "/cache/actions" + query, body, access: access)
    }

    @Test func `An action is accepted with its place`() async throws {
        let reply = try await submit(#"{"type":"refresh","pattern":"/a/**"}"#)
        #expect(reply.status == 202)
        let json = try JSONValue(parsing: reply.body)
        #expect(reply.fields["Location"] == "/cache/actions/" + (json["id"]?.string ?? "?"))
        #expect(json["state"]?.string == "created")
        #expect(json["pattern"]?.string == "/a/**")
        #expect(json["stores"]?[0]?.string == "default")
        let action = try #require(fixture.actions.submitted.first)
        #expect(action.partitions == [.none])
        let shown = try await fixture.send(.get, "/cache/actions/" + action.id)
        #expect(try JSONValue(parsing: shown.body) == json)
    }

    @Test func `They are listed in pages, and found by id`() async throws {
        for _ in 0..<3 { _ = try await submit(#"{"type":"save"}"#) }
        let page = try JSONValue(parsing: try await fixture.send(.get, "/cache/actions?limit=2").body)
        #expect(page["items"]?.array?.count == 2)
        let next = try #require(page["next"]?.string)
        let rest = try JSONValue(parsing: try await fixture.send(.get, "/cache/actions?after=\(next)").body)
        #expect(rest["items"]?.array?.count == 1)
        #expect(try await fixture.send(.get, "/cache/actions/none").status == 404)
        #expect(try await fixture.send(.delete, "/cache/actions/none").status == 404)
    }

    @Test func `Canceling answers with what became of it`() async throws {
        _ = try await submit(#"{"type":"save"}"#)
        let id = try #require(fixture.actions.submitted.first?.id)
        let reply = try await fixture.send(.delete, "/cache/actions/" + id)
        #expect(reply.status == 200)
        #expect(try JSONValue(parsing: reply.body)["completion"]?.string == "canceled")
    }

    @Test func `What works on whole stores, and on everybody's entries, needs a full token`() async throws {
        #expect(try await submit(#"{"type":"save"}"#, access: .readOnly).problem?.code == .readOnlyToken)
        let all = try await submit(#"{"type":"refresh"}"#, "?partition=*", access: .readOnly)
        #expect(all.problem?.code == .readOnlyToken)
        _ = try await submit(#"{"type":"refresh"}"#, "?partition=*")
        #expect(fixture.actions.submitted.map(\.partitions) == [nil])
    }

    @Test func `A target with a secret in its query is refused, and not named`() async throws {
        let reply = try await submit(#"{"type":"prefetch","targets":["/a","/b?access_token=s3cret"]}"#)
        #expect(reply.problem?.code == .badTarget)
        #expect(reply.problem?.detail.contains("s3cret") == false)
        #expect(fixture.actions.submitted.isEmpty)
    }

    @Test func `A store that is not attached has nothing to verify`() async throws {
        #expect(try await submit(#"{"type":"verify","store":"none"}"#).status == 404)
    }

    @Test func `Another's action is not shown`() async throws {
        let action = Action(
            id: "a", request: .save, partition: PartitionID(high: 9, low: 9), partitions: nil, stores: [], createdAt: 1)
        _ = try await fixture.actions.submit(action)
        #expect(try await fixture.send(.get, "/cache/actions/a", access: .readOnly).status == 404)
        #expect(try await fixture.send(.delete, "/cache/actions/a", access: .readOnly).status == 404)
        #expect(try await fixture.send(.get, "/cache/actions/a").status == 200)
    }

    @Test func `Without a cache there is nothing to do`() async throws {
        try await fixture.stores.setMode(.no)
        #expect(try await submit(#"{"type":"save"}"#).problem?.code == .cacheDisabled)
    }

    @Test func `Suspending pauses them too`() async throws {
        for value in [true, false] { _ = try await fixture.send(.put, "/cache/suspended", "{\"suspended\":\(value)}") }
        #expect(fixture.actions.suspensions.withLock { $0 } == [true, false])
    }
}
