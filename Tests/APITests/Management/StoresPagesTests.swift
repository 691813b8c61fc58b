import API
import CacheCore
import HTTPModel
import Synchronization
import TestSupport
import Testing

@Suite struct `Pages of stores` {
    private let bench = ManagementFixture()

    private func attach(_ json: String) async throws -> WriteFixture.Reply {
        try await bench.send(.post, "/cache/stores", json)
    }

    @Test func `One store is attached with what it asks for`() async throws {
        let reply = try await attach(
            #"{"name":"users","paths":["/users/**"],"location":{"primary":"/data/u"},"maxStoreSize":"1MiB"}"#)
        #expect(reply.status == 201 && reply.fields["Location"] == "/cache/stores/users")
        let asked = bench.stores.asked.withLock { $0 }
        #expect(asked.map(\.file) == ["holdfast.users.sqlite"])
        #expect(asked.first?.maxStoreSize == 1 << 20 && asked.first?.location == "/data/u")
    }

    @Test func `Several lie where the first one does`() async throws {
        let reply = try await attach(
            #"[{"name":"a","paths":["/a"],"location":{"primary":"/x"}},{"name":"b","paths":["/b"],"type":"memory"}]"#)
        #expect(reply.status == 201 && String(decoding: reply.body, as: UTF8.self).hasPrefix(#"{"items":["#))
        #expect(bench.stores.asked.withLock { $0.map(\.location) } == ["/x", "/x"])
    }

    @Test(arguments: [
        "[1]", #"{"name":"a"}"#, #"{"name":"default","paths":["/a"]}"#, #"{"name":"../a","paths":["/a"]}"#,
        #"{"name":"a","paths":["a"]}"#, #"{"name":"a","paths":["/a"],"fileName":"x/y"}"#,
        #"{"name":"a","paths":["/a"],"location":"/x"}"#, #"{"name":"a","paths":["/a"],"maxStoreSize":-1}"#,
        #"{"name":"a","paths":["/a"],"colour":"red"}"#, #"{"name":"a","paths":["/a"],"type":"binary"}"#,
        #"{"name":"a","paths":["/a"],"location":{"mirror":"/m"},"type":"memory"}"#,
        #"{"name":"a","paths":["/a"],"location":{"mirror":"/m"},"mode":"manualSaving"}"#,
        #"{"name":"a","paths":["/a"],"location":{"mirror":"/m"},"mode":{"initialized":{}}}"#,
        #"[{"name":"a","paths":["/a"],"location":{"mirror":"/m"}},{"name":"b","paths":["/b"],"type":"memory"}]"#,
    ])
    func `What can't be a store is refused`(json: String) async throws {
        #expect(try await attach(json).problem?.code == .badJSON)
        #expect(bench.stores.asked.withLock { $0.isEmpty })
    }

    @Test func `An empty list attaches none`() async throws {
        #expect(try await attach("[]").status == 201)
        #expect(bench.stores.asked.withLock { $0.isEmpty })
    }

    @Test func `A store is stopped, started, shown and detached by its name`() async throws {
        _ = try await attach(#"{"name":"a","paths":["/a"]}"#)
        let stopped = try await bench.send(.put, "/cache/stores/a", #"{"started":false}"#)
        #expect(String(decoding: stopped.body, as: UTF8.self).contains(#""status":"stopped""#))
        #expect(try await bench.send(.get, "/cache/stores/a").status == 200)
        #expect(try await bench.send(.get, "/cache/stores/b").problem?.code == .notFound)
        #expect(try await bench.send(.delete, "/cache/stores/a?leave=true").status == 204)
        #expect(bench.stores.detached.withLock { $0.map(\.leaving) } == [true])
    }

    @Test func `A store is asked to move its primary location alone`() async throws {
        _ = try await attach(#"{"name":"a","paths":["/a"],"location":{"primary":"/x","mirror":"/m"}}"#)
        let moved = try await bench.send(.put, "/cache/stores/a", #"{"location":{"primary":"/y"}}"#)
        #expect(String(decoding: moved.body, as: UTF8.self).contains(#""location":{"primary":"/y","mirror":"/m"}"#))
        for body in [
            #"{"location":{"primary":"/y","mirror":"/n"}}"#, #"{"location":{"mirror":"/n"}}"#, #"{"location":{}}"#,
            #"{"location":{"primary":"/y"},"started":true}"#, "{}",
        ] {
            #expect(try await bench.send(.put, "/cache/stores/a", body).problem?.code == .badJSON)
        }
        #expect(bench.stores.asked.withLock { $0.map(\.location) } == ["/y"])
    }

    @Test func `A verification answers with what it found`() async throws {
        _ = try await attach(#"{"name":"a","paths":["/a"],"location":{"mirror":"/m"}}"#)
        let reply = try await bench.send(.post, "/cache/stores/a/verify")
        #expect(String(decoding: reply.body, as: UTF8.self).contains(#""done":7,"total":0,"copied":1,"damaged":0"#))
        #expect(try await bench.send(.post, "/cache/stores/b/verify").problem?.code == .notFound)
        let readOnly = try await bench.send(.post, "/cache/stores/a/verify", access: .readOnly)
        #expect(readOnly.problem?.code == .readOnlyToken)
    }

    @Test func `Stores are for full tokens`() async throws {
        #expect(try await bench.send(.get, "/cache/stores", access: .readOnly).problem?.code == .readOnlyToken)
    }
}
