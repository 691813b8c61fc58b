import CacheCore
import HTTPModel
import Sync
import Synchronization
import TestSupport
import Testing

@Suite struct DelivererTests {
    @Test("Q03: after a failed replay the timer alone tries again")
    func retriesByItself() async {
        let count = Mutex(0)
        let origin = FakeOrigin { _ in
            let isFirst = count.withLock { count in
                count += 1
                return count == 1
            }
            return .success((isFirst ? 503 : 204, [:], ""))
        }
        let queue = FakeQueue([Fixture.operation()])
        let fixture = Fixture(origin, queue: queue)
        let deliverer = Deliverer(fixture.context)
        deliverer.start()
        await eventually { queue.outcomes.count >= 2 }
        await deliverer.stop(deadline: .infinity)
        guard case .delivered = queue.outcomes[1].1 else {
            Issue.record("\(queue.outcomes)")
            return
        }
    }

    @Test("O05: as many writes as are sent at once, and twice as many, are each sent once", arguments: [8, 16])
    func batches(count: Int) async {
        let origin = FakeOrigin { _ in .success((204, [:], "")) }
        let queue = FakeQueue((0..<count).map { Fixture.operation(id: "op\($0)") })
        let fixture = Fixture(origin, queue: queue)
        let deliverer = Deliverer(fixture.context)
        deliverer.start()
        await eventually { queue.outcomes.count >= count }
        await deliverer.stop(deadline: .infinity)
        #expect(origin.sent.count == count)
    }

    @Test("before an origin that answers at once many are claimed in one commit, and few are on the wire")
    func claimsAhead() async {
        let origin = FakeOrigin { _ in .success((204, [:], "")) }
        let queue = FakeQueue((0..<400).map { Fixture.operation(id: "op\($0)") })
        let deliverer = Deliverer(Fixture(origin, queue: queue).context)
        deliverer.start()
        await eventually { queue.outcomes.count >= 400 }
        await deliverer.stop(deadline: .infinity)
        #expect(queue.claimed.max() ?? 0 > 8)
        #expect(queue.claimed.allSatisfy { $0 <= 256 })
        #expect(origin.sent.count == 400)
    }

    @Test("what is claimed ahead and not on its way is given back when delivery is suspended", .timeLimit(.minutes(1)))
    func givesBack() async {
        let count = Mutex(0)
        let suspend = Mutex<(@Sendable () -> Void)?>(nil)
        let origin = FakeOrigin { _ in
            let isLast = count.withLock { count in
                count += 1
                return count == 20
            }
            if isLast { suspend.withLock { $0 }?() }
            return .success((204, [:], ""))
        }
        let queue = FakeQueue((0..<400).map { Fixture.operation(id: "op\($0)") })
        let deliverer = Deliverer(Fixture(origin, queue: queue).context)
        suspend.withLock { $0 = { deliverer.suspend(true) } }
        deliverer.start()
        await eventually { origin.sent.count >= 20 && queue.outcomes.count >= queue.claimed.reduce(0, +) }
        await eventually { queue.unfinished().count == 400 - origin.sent.count }
        await deliverer.stop(deadline: .infinity)
        suspend.withLock { $0 = nil }  // the origin holds it, and it what holds the origin
        #expect(origin.sent.count < 40)
    }

    @Test("N05: offline and suspended, nothing is sent")
    func offline() async {
        let origin = FakeOrigin { _ in .success((204, [:], "")) }
        let fixture = Fixture(origin, queue: FakeQueue([Fixture.operation()]))
        fixture.network.force(offline: true)
        let deliverer = Deliverer(fixture.context)
        deliverer.start()
        #expect(await deliverer.syncNow(deadline: fixture.context.clock.now + 1).count == 1)
        await deliverer.stop(deadline: .infinity)
        #expect(origin.sent.isEmpty)
    }
}
