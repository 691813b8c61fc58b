package import CacheCore

/// Online or offline as a state machine (design 8): events in, actions out, no input or output of its own.
///
/// Departure from strict pessimism: at the start the origin counts as reachable, so that the first request finds out.
package struct ConnectivityMachine: Sendable {
    /// What happened.
    package enum Event: Sendable, Hashable {
        /// A request of ours got no connection.
        case connectionFailed
        /// The origin itself answered.
        case answered(status: Int)
        /// The probe of that number succeeded; the status it got, nil for a mere connection.
        case probeSucceeded(number: UInt64, status: Int?)
        case probeFailed(number: UInt64)
        /// A sign of a portal was confirmed.
        case portalFound
        case forced(offline: Bool)
    }

    /// What the owner is to do, after its lock is released.
    package enum Action: Sendable, Hashable {
        /// Run the probe after that many seconds and tell the machine its outcome under this number.
        case probe(after: Double, number: UInt64)
        /// Tell listeners.
        case announce(from: NetworkState, to: NetworkState)
        /// From offline to online: wake who waits, make the queue due.
        case cameOnline
    }

    /// The first probe comes after this, in seconds; each further one after twice the time before.
    package static let firstProbeDelay = 0.1

    private var judged = NetworkState.online
    private var isForced = false
    /// Whether a portal was the reason: only a probe ends it then, since in-flight answers may be the portal's.
    package private(set) var isBehindPortal = false
    private var probeNumber: UInt64 = 0
    private var probeDelay = Self.firstProbeDelay

    package init() {}

    /// What the service goes by.
    package var state: NetworkState { isForced ? .forcedOffline : judged }

    /// `maxProbeInterval` in seconds (`probe.maxInterval`).
    package mutating func handle(_ event: Event, maxProbeInterval: Double) -> [Action] {
        let before = state
        var actions: [Action] = []
        switch event {
        case .connectionFailed: goOffline(byPortal: false, into: &actions)
        case .portalFound: goOffline(byPortal: true, into: &actions)
        case .answered(let status):
            if !isBehindPortal { goOnline(status: status) }
        case .probeSucceeded(let number, let status):
            guard number == probeNumber, judged == .offline, !isForced else { break }
            goOnline(status: status)
        case .probeFailed(let number):
            guard number == probeNumber, judged == .offline, !isForced else { break }
            probeDelay = min(probeDelay * 2, max(maxProbeInterval, Self.firstProbeDelay))
            scheduleProbe(after: probeDelay, into: &actions)
        case .forced(true):
            isForced = true
            probeNumber += 1
        case .forced(false):
            guard isForced else { break }
            isForced = false
            probeDelay = Self.firstProbeDelay
            if judged == .offline { scheduleProbe(after: 0, into: &actions) }
        }
        if state != before {
            actions.append(.announce(from: before, to: state))
            if state.isOnline && !before.isOnline { actions.append(.cameOnline) }
        }
        return actions
    }

    private mutating func goOffline(byPortal: Bool, into actions: inout [Action]) {
        isBehindPortal = isBehindPortal || byPortal
        guard judged != .offline else { return }
        judged = .offline
        probeDelay = Self.firstProbeDelay
        if !isForced { scheduleProbe(after: probeDelay, into: &actions) }
    }

    private mutating func goOnline(status: Int?) {
        isBehindPortal = false
        probeNumber += 1
        judged =
            switch status {
            case .some(401): .auth
            case .some(429), .some(500...599): .degraded
            default: .online
            }
    }

    private mutating func scheduleProbe(after delay: Double, into actions: inout [Action]) {
        probeNumber += 1
        actions.append(.probe(after: delay, number: probeNumber))
    }
}
