import CacheCore
import HTTPModel
import TestSupport
import Testing

@Suite("Events")
struct EventHubTests {
    private let clock = ManualClock()

    private func hub() -> EventHub { EventHub(clock: clock, epoch: 7, capacity: 4, heartbeat: 15) }

    private func emit(_ count: Int, _ hub: EventHub) {
        for number in 0..<count { hub.emit(.network(from: "online", to: "n\(number)")) }
    }

    private func numbers(_ part: EventRing.Part) -> [Int64]? {
        if case .events(let events) = part { events.map(\.number) } else { nil }
    }

    @Test("A reader gets what is behind its place, in order, as much as it takes")
    func order() {
        let hub = hub()
        emit(3, hub)
        #expect(numbers(hub.part(after: EventID(epoch: 7, number: 0), limit: 2)) == [1, 2])
        #expect(numbers(hub.part(after: EventID(epoch: 7, number: 2), limit: 2)) == [3])
        #expect(numbers(hub.part(after: EventID(epoch: 7, number: 3), limit: 2)) == [])
    }

    @Test("A place that the ring has left behind, of another start or of the future has missed events")
    func missed() {
        let hub = hub()
        emit(9, hub)
        #expect(numbers(hub.part(after: EventID(epoch: 7, number: 4), limit: 9)) == nil)
        #expect(numbers(hub.part(after: EventID(epoch: 7, number: 5), limit: 9)) == [6, 7, 8, 9])
        #expect(numbers(hub.part(after: EventID(epoch: 6, number: 5), limit: 9)) == nil)
        #expect(numbers(hub.part(after: EventID(epoch: 7, number: 10), limit: 9)) == nil)
    }

    @Test("An id is its start and number, and nothing else is one")
    func ids() {
        #expect(EventID(text: EventID(epoch: 12, number: 34).text) == EventID(epoch: 12, number: 34))
        for text in ["", "1", "1-", "-1", "1-2-3", "a-1", "1--2", "99999999999999999999-1"] {
            #expect(EventID(text: text) == nil, "\(text)")
        }
    }

    @Test("An event wakes who waits")
    func wakes() async throws {
        let hub = hub()
        let listener = try #require(hub.join()?.listener)
        let start = hub.position
        async let wake = hub.wait(listener, after: start)
        emit(1, hub)
        guard case .events = await wake else {
            Issue.record("woken for something else")
            return
        }
    }

    @Test("A burst wakes once more after the pause, also one that was behind before it")
    func pauses() async throws {
        let hub = hub()
        let listener = try #require(hub.join()?.listener)
        let start = hub.position
        emit(1, hub)
        await eventually { clock.sleeperCount >= 2 }  // heartbeat and pause
        guard case .events = await woken(by: 0.02, listener, after: start, hub) else {
            Issue.record("woken for something else")
            return
        }
    }

    @Test("Without events a heartbeat is due every 15 seconds")
    func heartbeats() async throws {
        let hub = hub()
        let listener = try #require(hub.join()?.listener)
        guard case .heartbeat = await woken(by: 15, listener, after: hub.position, hub) else {
            Issue.record("woken for something else")
            return
        }
        #expect(clock.now >= 1_700_000_015)
    }

    /// Waits while time passes in steps.
    private func woken(
        by step: Double, _ listener: EventHub.ListenerID, after place: EventID, _ hub: EventHub
    ) async -> EventHub.Wake {
        let ticking = Task { [clock] in
            while !Task.isCancelled {
                if clock.sleeperCount > 0 { clock.advance(by: step) }
                await Task.yield()
            }
        }
        defer { ticking.cancel() }
        return await hub.wait(listener, after: place)
    }

    @Test("Who leaves or is closed out waits no longer, and the timer stops with the last")
    func leaving() async throws {
        let hub = hub()
        let one = try #require(hub.join()?.listener)
        let other = try #require(hub.join()?.listener)
        let start = hub.position
        async let left = hub.wait(one, after: start)
        hub.leave(one)
        guard case .over = await left else {
            Issue.record("not over")
            return
        }
        #expect(hub.listenerCount == 1)
        async let closed = hub.wait(other, after: start)
        hub.close()
        guard case .over = await closed else {
            Issue.record("not over")
            return
        }
        hub.leave(other)
        await eventually { clock.sleeperCount == 0 }
        #expect(hub.join() == nil)
    }

    @Test("The counters know each change of an operation's state")
    func counters() async throws {
        let counters = OperationCounters()
        let operation = try await QueueBench().write(.put, "/items/1", "{}")
        counters.emit(.operation(operation, from: nil))
        counters.emit(.operation(operation, from: .sending))
        counters.emit(.operation(operation, from: .sending))
        counters.emit(.network(from: "online", to: "offline"))
        #expect(counters.changes.map(\.count) == [1, 2])
        #expect(counters.changes.map(\.from) == [nil, .sending])
    }
}
