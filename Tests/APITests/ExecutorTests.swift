import CacheCore
import HTTPModel
import Testing

@testable import API

/// Which requests are answered on their connection's thread.
@Suite struct ExecutorTests {
    private func mayComputeLong(
        _ method: HTTPMethod, _ target: String, _ fields: HTTPFields = HTTPFields(), length: Int64? = 0
    ) -> Bool {
        Service<DictionaryView>.mayComputeLong(
            RequestHead(method: method, target: target, fields: fields, bodyLength: length))
    }

    @Test("plain reads and short writes stay on the connection's thread")
    func short() {
        #expect(!mayComputeLong(.get, "/resources/a"))
        #expect(!mayComputeLong(.get, "/files/a"))
        #expect(!mayComputeLong(.put, "/resources/a", length: 64 << 10))
    }

    @Test("what may compute for long leaves it to the hits")
    func long() {
        #expect(mayComputeLong(.get, "/cache/operations"))
        #expect(mayComputeLong(.put, "/resources/a", length: 64 << 10 + 1))
        #expect(mayComputeLong(.post, "/resources/a", length: nil))
        #expect(mayComputeLong(.patch, "/resources/a", length: 2))
        #expect(mayComputeLong(.get, "/resources/a", ["sync-filter": "a = 1"]))
        #expect(mayComputeLong(.get, "/resources/a", ["Sync-Sort": "a"]))
    }
}
