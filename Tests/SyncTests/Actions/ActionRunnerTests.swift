import CacheCore
import HTTPModel
import Sync
import Synchronization
import TestSupport
import Testing

@Suite struct `The runner of actions` {
    /// Work that waits for a latch of its action, in steps that end where its task is cancelled.
    private final class Waiting: ActionWork {
        private struct State: Sendable {
            var begun: [String] = []
            var open: Set<String> = []
        }
        private let state = Mutex(State())

        var begun: [String] { state.withLock { $0.begun } }
        func open(_ id: String) { state.withLock { _ = $0.open.insert(id) } }

        func run(_ turn: ActionTurn) async throws -> Bool {
            state.withLock { $0.begun.append(turn.action.id) }
            if turn.action.id.hasPrefix("bad") { throw Problem(.offline, "No such luck.") }
            while !state.withLock({ $0.open.contains(turn.action.id) }) {
                guard !Task.isCancelled else { return false }
                await turn.note { $0.done += 1 }
                await Task.yield()
            }
            return true
        }
    }

    private final class Told: EventSink {
        private let told = Mutex<[String]>([])
        var states: [String] { told.withLock { $0 } }
        func emit(_ event: Event) {
            guard case .action(let action) = event else { return }
            told.withLock { told in
                let text = "\(action.id) \(action.state.rawValue) \(action.completion.rawValue)"
                if told.last != text { told.append(text) }
            }
        }
    }

    private let clock = ManualClock()
    private let store = MemoryActions()
    private let fixture: Fixture
    private let network: Connectivity
    private let work = Waiting()
    private let told = Told()
    private let runner: ActionRunner

    init() {
        fixture = Fixture(FakeOrigin { _ in .success((200, [:], "")) }, clock: clock)
        network = fixture.network
        runner = Self.runner(store, fixture, told, work)
    }

    private static func runner(
        _ store: MemoryActions, _ fixture: Fixture, _ told: Told, _ work: Waiting
    ) -> ActionRunner {
        ActionRunner(
            store: store, network: fixture.network, credentials: fixture.credentials,
            sources: fixture.context.sources, clock: fixture.context.clock, events: told, log: NoLog(),
            works: [.save: work, .refresh: work])
    }

    private func submit(
        _ id: String, _ request: ActionRequest = .save, by partition: PartitionID = .none
    ) async throws {
        let action = Action(
            id: id, request: request, partition: partition, partitions: nil, stores: [id], createdAt: clock.now)
        #expect(try await runner.submit(action).state == .created)
    }

    private func until(_ id: String, _ state: ActionState) async throws {
        try await eventually { try await store.action(id)?.state == state }
    }

    private func untilBegun(_ count: Int) async { await eventually { work.begun.count >= count } }

    @Test func `An action is accepted, begins, ends, and is on disk at each step`() async throws {
        await runner.start()
        try await submit("a")
        try await until("a", .executing)
        work.open("a")
        try await until("a", .finished)
        #expect(try await runner.action("a")?.completion == .successful)
        #expect(told.states == ["a created unknown", "a executing unknown", "a finished successful"])
    }

    @Test func `What is refused by the work fails with its reason`() async throws {
        await runner.start()
        try await submit("bad")
        try await until("bad", .finished)
        let action = try await runner.action("bad")
        #expect(action?.completion == .failed)
        #expect(action?.problem == ActionProblem(.offline, "No such luck."))
    }

    @Test func `One that runs is canceled at once and finished when its work has ended`() async throws {
        await runner.start()
        try await submit("a")
        await untilBegun(1)
        #expect(try await runner.cancel("a")?.completion == .canceled)
        try await until("a", .finished)
        #expect(try await runner.action("a")?.completion == .canceled)
        #expect(try await runner.cancel("a")?.completion == .canceled)
    }

    @Test func `Suspended ones wait, and go on when they are resumed`() async throws {
        await runner.start()
        try await submit("a")
        await untilBegun(1)
        runner.suspend(true)
        try await until("a", .pending)
        try await submit("b")
        #expect(work.begun == ["a"])
        runner.suspend(false)
        await untilBegun(3)
        // The two of them run beside each other.
        #expect(work.begun.sorted() == ["a", "a", "b"])
        for id in ["a", "b"] { work.open(id) }
        try await until("a", .finished)
        #expect(try await runner.action("a")?.starts == 2)
    }

    @Test func `What asks the origin begins when that is there`() async throws {
        network.force(offline: true)
        await runner.start()
        try await submit("a", .refresh(PathPattern("/**")))
        try await submit("b")
        await untilBegun(1)
        #expect(work.begun == ["b"])
        network.force(offline: false)
        runner.wake()
        await untilBegun(2)
        await runner.stop()
    }

    private func untilReason(_ reason: String?, of id: String) async throws {
        try await eventually { try await runner.action(id)?.reason == reason }
    }

    @Test func `What asks the origin for an identity waits until a credential of that is known`() async throws {
        let ann = PartitionID(high: 5, low: 1)
        await runner.start()
        try await submit("a", .refresh(PathPattern("/**")), by: ann)
        try await submit("b", by: ann)
        try await untilReason(Reason.credential, of: "a")
        #expect(try await runner.action("a")?.state == .pending)
        #expect(try await runner.action("a")?.json()["reason"] == "credential")
        await untilBegun(1)
        #expect(work.begun == ["b"])
        // It was looked for in vain, and is not looked for again before the clock moves.
        await eventually { clock.nextWake != nil }
        fixture.credentials.accepted(["Authorization": "Bearer k"], for: ann)
        runner.credentialArrived(for: PartitionID(high: 5, low: 2))
        #expect(try await runner.action("a")?.reason == Reason.credential)
        runner.credentialArrived(for: ann)
        await untilBegun(2)
        #expect(try await runner.action("a")?.reason == nil)
        work.open("a")
        try await until("a", .finished)
        await runner.stop()
    }

    @Test func `A credential of which nobody tells is looked for`() async throws {
        let ann = PartitionID(high: 5, low: 1)
        await runner.start()
        try await submit("a", .refresh(PathPattern("/**")), by: ann)
        try await untilReason(Reason.credential, of: "a")
        fixture.credentials.accepted(["Authorization": "Bearer k"], for: ann)
        await eventually {
            if clock.nextWake != nil { clock.advance(by: 2) }
            return !work.begun.isEmpty
        }
        await runner.stop()
    }

    @Test func `One that waits for a credential can be canceled`() async throws {
        await runner.start()
        try await submit("a", .refresh(PathPattern("/**")), by: PartitionID(high: 5, low: 1))
        try await untilReason(Reason.credential, of: "a")
        let canceled = try await runner.cancel("a")
        #expect(canceled?.state == .finished)
        #expect(canceled?.reason == nil)
        await runner.stop()
    }

    @Test func `What had not ended goes on at the next start, with what it had done`() async throws {
        await runner.start()
        try await submit("a")
        try await eventually { try await runner.action("a")?.progress.done ?? 0 >= 5 }
        await runner.stop()
        #expect(try await store.action("a")?.state == .pending)
        #expect(try await store.action("a")?.progress.done ?? 0 >= 5)
        let next = Self.runner(store, fixture, told, work)
        await next.start()
        await untilBegun(2)
        #expect(try await next.action("a")?.progress.done ?? 0 >= 5)
        work.open("a")
        try await until("a", .finished)
    }

    @Test func `What was running when the service was killed goes on at the next start`() async throws {
        var action = Action(
            id: "a", request: .save, partition: .none, partitions: nil, stores: ["a"], createdAt: clock.now)
        action.state = .executing
        try await store.put(action)
        var canceled = Action(
            id: "b", request: .save, partition: .none, partitions: nil, stores: ["b"], createdAt: clock.now)
        (canceled.state, canceled.completion) = (.executing, .canceled)
        try await store.put(canceled)
        await runner.start()
        await untilBegun(1)
        #expect(try await store.action("b")?.state == .finished)
        #expect(work.begun == ["a"])
        await runner.stop()
    }

    @Test func `Progress is put on disk once a second`() async throws {
        await runner.start()
        try await submit("a")
        try await eventually { try await runner.action("a")?.progress.done ?? 0 >= 100 }
        let puts = store.puts
        #expect(puts < 10)
        clock.advance(by: 1)
        await eventually { store.puts != puts }
        #expect(try await store.action("a")?.progress.done ?? 0 >= 100)
        await runner.stop()
    }

    @Test func `An end that could not be recorded is recorded later`() async throws {
        await runner.start()
        try await submit("a")
        try await until("a", .executing)
        store.failNext(2)
        work.open("a")
        await eventually { clock.nextWake != nil }
        #expect(try await runner.action("a")?.state == .finished)
        for _ in 0..<2 {
            try await eventually {
                if clock.nextWake != nil { return true }
                return try await store.action("a")?.state == .finished
            }
            clock.advance(by: 1)
        }
        try await until("a", .finished)
    }

    @Test func `What can't be recorded is not accepted`() async throws {
        await runner.start()
        store.failNext(1)
        let action = Action(id: "a", request: .save, partition: .none, partitions: nil, stores: [], createdAt: 1)
        let problem = await #expect(throws: Problem.self) { try await runner.submit(action) }
        #expect(problem?.code == .storeFull)
        #expect(try await runner.action("a") == nil)
    }

    @Test func `More than may wait are refused`() async throws {
        for number in 0..<ActionBook.capacity { try await submit("\(number)") }
        let more = Action(id: "more", request: .save, partition: .none, partitions: nil, stores: [], createdAt: 1)
        let problem = await #expect(throws: Problem.self) { try await runner.submit(more) }
        #expect(problem?.code == .tooManyActions)
    }

    @Test func `A list shows those that run as they are now`() async throws {
        await runner.start()
        try await submit("a")
        try await eventually { try await runner.action("a")?.progress.done ?? 0 >= 100 }
        let page = try await runner.actions(partitions: nil, after: nil, limit: 10)
        #expect(page.items.first?.progress.done ?? 0 >= 100)
        await runner.stop()
    }
}
