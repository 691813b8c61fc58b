import CacheCore
import HTTPModel
import Sync
import Testing

@Suite struct ConnectivityMachineTests {
    @Test("A failed connection puts offline and probes after 0.1 s, then after twice the time up to the limit")
    func backoff() {
        var machine = ConnectivityMachine()
        var actions = machine.handle(.connectionFailed, maxProbeInterval: 1)
        #expect(machine.state == .offline)
        var delays: [Double] = []
        for _ in 0..<6 {
            guard case .probe(let delay, let number) = actions.first else { break }
            delays.append(delay)
            actions = machine.handle(.probeFailed(number: number), maxProbeInterval: 1)
        }
        #expect(delays == [0.1, 0.2, 0.4, 0.8, 1, 1])
    }

    @Test("Q05: a successful probe comes online and says so once")
    func probeSucceeds() {
        var machine = ConnectivityMachine()
        _ = machine.handle(.connectionFailed, maxProbeInterval: 1)
        #expect(
            machine.handle(.probeSucceeded(number: 1, status: nil), maxProbeInterval: 1)
                == [.announce(from: .offline, to: .online), .cameOnline])
        #expect(machine.handle(.probeSucceeded(number: 1, status: nil), maxProbeInterval: 1) == [])
    }

    @Test(
        "N03: an answer of any status is online",
        arguments: [(200, NetworkState.online), (404, .online), (503, .degraded), (429, .degraded), (401, .auth)])
    func answers(status: Int, state: NetworkState) {
        var machine = ConnectivityMachine()
        _ = machine.handle(.answered(status: status), maxProbeInterval: 1)
        #expect(machine.state == state)
    }

    @Test("N05: forced offline stays so whatever answers, and ends when it is taken back")
    func forced() {
        var machine = ConnectivityMachine()
        _ = machine.handle(.forced(offline: true), maxProbeInterval: 1)
        _ = machine.handle(.answered(status: 200), maxProbeInterval: 1)
        #expect(machine.state == .forcedOffline)
        #expect(
            machine.handle(.forced(offline: false), maxProbeInterval: 1)
                == [.announce(from: .forcedOffline, to: .online), .cameOnline])
    }

    @Test("N01: behind a portal only the probe comes online")
    func portal() {
        var machine = ConnectivityMachine()
        _ = machine.handle(.portalFound, maxProbeInterval: 1)
        _ = machine.handle(.answered(status: 200), maxProbeInterval: 1)
        #expect(machine.state == .offline)
        _ = machine.handle(.probeSucceeded(number: 1, status: 200), maxProbeInterval: 1)
        #expect(machine.state == .online)
    }

    @Test("N01: a login page for everything is a portal, and the service goes offline")
    func loginPage() async {
        let origin = FakeOrigin { _ in .success((200, ["Content-Type": "text/html"], "<p>Log in")) }
        let network = Fixture(origin).network
        #expect(network.looksLikePortal(status: 200, fields: ["Content-Type": "text/html"], expectsJSON: true))
        #expect(await network.confirmPortal())
        #expect(network.state == .offline)
        network.stop()
    }

    @Test("N03: the probe looks at status and header, and takes 503 as the origin's")
    func probeVerdicts() {
        var probe = ProbeSettings()
        probe.target = Target(unchecked: "/health")
        probe.status = 204
        probe.header = ("X-App", "mine")
        func judge(_ status: Int, _ fields: HTTPFields) -> ProbeVerdict {
            ProbeVerdict.judge(
                status: status, fields: fields, base: "http://origin.test", probe: probe, suspected: nil)
        }
        #expect(judge(204, ["X-App": "mine"]) == .origin(status: 204))
        #expect(judge(200, ["X-App": "mine"]) == .notOrigin)
        #expect(judge(204, [:]) == .notOrigin)
        #expect(judge(503, [:]) == .origin(status: 503))
        #expect(judge(302, ["Location": "http://login.test/"]) == .notOrigin)
    }
}
