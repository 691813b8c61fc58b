import CacheCore
import Testing

@Suite struct `Problems of stores` {
    private func failures(_ problem: Problem) throws -> [JSONValue] {
        try #require(try JSONValue(parsing: problem.body(instance: nil))["failures"]?.array)
    }

    @Test func `Of several failures the first one answers and all are named`() throws {
        let problem = Problem.from(
            .several([
                StoreFailure(store: "notes", error: .full), StoreFailure(store: "maps", error: .mirrorFailed(.closed)),
            ]))
        #expect(problem.code == .storeFull)
        #expect(problem.status == 507)
        #expect(
            try failures(problem) == [
                ["store": "notes", "type": "/problems/store-full", "title": "The store is full"],
                [
                    "store": "maps", "type": "/problems/mirror-failed", "title": "The mirror has not taken the write",
                    "location": "mirror",
                ],
            ])
    }

    @Test func `Several failures are of an accepted change exactly where each one is`() {
        let half = StoreFailure(store: "a", error: .mirrorFailed(.full))
        #expect(StoreError.several([half, half]).isAccepted)
        #expect(!StoreError.several([StoreFailure(store: "b", error: .full), half]).isAccepted)
        #expect(!StoreError.full.isAccepted)
    }
}
