import CacheCore
import HTTPModel
import Sync
import Synchronization
import TestSupport
import Testing

/// The works of actions around a store in memory and an origin that has what a test gives it.
struct WorkFixture: Sendable {
    /// Puts what the origin has into the store, and keeps what was asked for.
    final class Asked: EntryRefreshing {
        private struct State: Sendable {
            var targets: [String] = []
            var served: [String: (body: String, fields: HTTPFields)] = [:]
            var hook: (@Sendable (String) -> Void)?
        }
        private let state = Mutex(State())
        private let store: MemoryStore
        private let clock: ManualClock

        init(_ store: MemoryStore, _ clock: ManualClock) {
            self.store = store
            self.clock = clock
        }

        var targets: [String] { state.withLock { $0.targets } }

        func serve(_ target: String, _ body: String, _ fields: HTTPFields) {
            state.withLock { $0.served[target] = (body, fields) }
        }

        /// Called before each answer.
        func onRequest(_ hook: @escaping @Sendable (String) -> Void) { state.withLock { $0.hook = hook } }

        func refresh(_ key: EntryKey, credentials: HTTPFields) async throws(OriginError) {
            let target = key.target.text
            let (found, hook) = state.withLock { state in
                state.targets.append(target)
                return (state.served[target], state.hook)
            }
            hook?(target)
            guard let found, let content = try? await store.makeContent(Array(found.body.utf8), for: .copy) else {
                return
            }
            let copy = ServerCopy(
                status: 200, fields: found.fields, content: content, requestTime: clock.now, responseTime: clock.now,
                epoch: 1)
            try? await store.commit([.putCopy(key, copy)], durable: false)
        }
    }

    /// Stores whose bodies and sides a test describes.
    final class Stores: StoreKeeping, StoreExamining {
        /// What each look at a store finds, one after the other.
        let bodies = Mutex<[String: [BodyExamination]]>([:])
        let sides = Mutex<[String: MirrorStatus]>([:])
        let examined = Mutex<[String]>([])

        var patterns: [(store: String, paths: [PathPattern])] { [(StoreName.standard, [PathPattern("/**")])] }
        var mode: CacheMode { .automatic }
        func stores() async throws -> [StoreDescription] { [] }
        func attach(_ requests: [StoreRequest]) async throws -> [StoreDescription] { [] }
        func setStarted(_ isStarted: Bool, of name: String) async throws -> StoreDescription {
            throw Problem(.notFound, "")
        }
        func detach(_ name: String, leavingOperations: Bool) async throws {}
        func setMode(_ mode: CacheMode) async throws {}
        func save(for reason: SaveReason) async throws -> Bool { reason == .demand }

        func bodyCount(of store: String) async throws -> Int64 {
            bodies.withLock { $0[store, default: []].reduce(0) { $0 + $1.checked } }
        }
        func examine(_ store: String, after place: String?) async throws -> BodyExamination {
            examined.withLock { $0.append("\(store) \(place ?? "begins")") }
            let looks = bodies.withLock { $0[store] ?? [] }
            let number = place.flatMap { Int($0.dropFirst("look ".count)) } ?? 0
            var found = looks[number]
            found.next = number + 1 < looks.count ? "look \(number + 1)" : nil
            return found
        }
        func hasBothSides(_ store: String) throws -> Bool { sides.withLock { $0[store] != nil } }
        func compare(
            _ name: String, byDigest: Bool, progress: @escaping @Sendable (MirrorStatus) -> Void
        ) async throws -> MirrorStatus {
            examined.withLock { $0.append("sides of \(name)\(byDigest ? " by digest" : "")") }
            guard let status = sides.withLock({ $0[name] }), status.out.isEmpty else {
                throw Problem(.storeFailed, "A side is out.")
            }
            var begun = status
            begun.done = 1
            progress(begun)
            return status
        }
        func move(_ name: String, to location: String) async throws -> StoreDescription {
            throw Problem(.notFound, "")
        }
    }

    let clock = ManualClock()
    let fixture: Fixture
    let asked: Asked
    let stores = Stores()
    private let works: [ActionType: any ActionWork]
    private let told = Told()

    private final class Told: Sendable { let pins = Mutex<[String]>([]) }

    init() {
        fixture = Fixture(FakeOrigin { _ in .success((200, [:], "")) }, clock: clock)
        asked = Asked(fixture.store, clock)
        works = ActionWorks.all(
            store: fixture.store, network: fixture.network, credentials: fixture.credentials,
            sources: fixture.context.sources, settings: fixture.settings, originBase: "http://origin.test",
            entries: asked, stores: stores, clock: clock, log: NoLog(),
            pinned: { [told] entry in
                told.pins.withLock { $0.append("\(entry.key.target.text) \(entry.pin?.rawValue ?? "none")") }
            })
    }

    /// Pins that were told of.
    var pins: [String] { told.pins.withLock { $0 } }

    func know(_ target: String, age: Double, of partition: PartitionID = .none) async throws {
        let key = EntryKey(partition: partition, target: Target(unchecked: target))
        let copy = ServerCopy(
            status: 200, fields: ["Cache-Control": "max-age=60"], content: .empty, requestTime: clock.now - age,
            responseTime: clock.now - age, epoch: 1)
        try await fixture.store.commit([.putCopy(key, copy)], durable: false)
    }

    /// Runs to the end, or until the work stops; what it has noted then.
    func run(
        _ request: ActionRequest, stores: [String] = [StoreName.standard], position: String? = nil,
        createdAt: Double? = nil, of partitions: [PartitionID]? = [.none]
    ) async throws -> (isDone: Bool, progress: ActionProgress) {
        var action = Action(
            id: "a", request: request, partition: .none, partitions: partitions, stores: stores,
            createdAt: createdAt ?? clock.now)
        action.progress.position = position
        let noted = Mutex(action.progress)
        let work = try #require(works[request.type])
        let isDone = try await work.run(ActionTurn(action) { change in noted.withLock { change(&$0) } })
        return (isDone, noted.withLock { $0 })
    }
}
