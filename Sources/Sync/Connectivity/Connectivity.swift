package import CacheCore
package import HTTPModel
import Synchronization

/// Judges online and offline (design 8): the machine under a lock, the probe and the waiters around it.
/// Safe from any thread; nothing foreign is called while the lock is held.
package final class Connectivity: Network {
    private struct Guarded: Sendable {
        var machine = ConnectivityMachine()
        var waiters: [UInt64: CheckedContinuation<Void, Never>] = [:]
        var nextWaiter: UInt64 = 0
        /// The sign that was seen last, for the look that confirms it.
        var suspected: PortalSign?
        var probe: Task<Void, Never>?
        var listeners: [@Sendable () -> Void] = []
        var isStopped = false
        /// Why the last connection could not be made, until the log has told it.
        var failure: String?
    }

    private let guarded = Mutex(Guarded())
    private let origin: any Origin
    private let clock: any Clock
    private let settings: SettingsBox
    private let events: any EventSink
    private let log: any Log

    package init(
        origin: any Origin, clock: any Clock, settings: SettingsBox, events: any EventSink, log: any Log
    ) {
        self.origin = origin
        self.clock = clock
        self.settings = settings
        self.events = events
        self.log = log
    }

    /// Adds what is called each time the service comes online, after the state has changed. On any thread; must not block.
    package func onOnline(_ call: @escaping @Sendable () -> Void) {
        guarded.withLock { $0.listeners.append(call) }
    }

    /// Ends the probe and lets all waiters go. For the end of the service.
    package func stop() {
        let (probe, waiters) = guarded.withLock { state in
            state.isStopped = true
            let all = (state.probe, Array(state.waiters.values))
            state.probe = nil
            state.waiters = [:]
            return all
        }
        probe?.cancel()
        for waiter in waiters { waiter.resume() }
    }

    // MARK: Network

    package var state: NetworkState { guarded.withLock { $0.machine.state } }

    package func connectionFailed(_ error: OriginError) {
        if case .unreachable(let reason, _) = error { guarded.withLock { $0.failure = reason } }
        handle(.connectionFailed)
    }

    package func answered(status: Int) { handle(.answered(status: status)) }

    package func force(offline: Bool) { handle(.forced(offline: offline)) }

    package func looksLikePortal(status: Int, fields: HTTPFields, expectsJSON: Bool) -> Bool {
        let sign = PortalSign.of(
            status: status, fields: fields, base: origin.base, target: "", expectsJSON: expectsJSON,
            hasIdentityCheck: settings.current.probe.headerName != nil)
        guard let sign else { return false }
        guarded.withLock { $0.suspected = sign }
        return true
    }

    package func confirmPortal() async -> Bool {
        let suspected = guarded.withLock { $0.suspected }
        do throws(OriginError) {
            if case .origin = try await look(suspected: suspected) { return false }
        } catch {
            // It can't be told whose the answer was: not using it is the safe side.
            handle(.connectionFailed)
            return true
        }
        handle(.portalFound)
        return true
    }

    package func waitUntilOnline(deadline: Double) async {
        let number = guarded.withLock { state in
            state.nextWaiter += 1
            return state.nextWaiter
        }
        let clock = clock
        let timer = Task { [weak self] in
            await clock.sleep(until: deadline)
            self?.release(waiter: number)
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isDone = guarded.withLock { state in
                    if state.machine.state.isOnline || state.isStopped || clock.now >= deadline || Task.isCancelled {
                        return true
                    }
                    state.waiters[number] = continuation
                    return false
                }
                if isDone { continuation.resume() }
            }
        } onCancel: {
            release(waiter: number)
        }
        timer.cancel()
    }

    private func release(waiter number: UInt64) {
        guarded.withLock { $0.waiters.removeValue(forKey: number) }?.resume()
    }

    // MARK: Events and actions

    private func handle(_ event: ConnectivityMachine.Event) {
        let interval = settings.current.probe.maxInterval
        let actions = guarded.withLock { $0.machine.handle(event, maxProbeInterval: interval) }
        for action in actions { perform(action) }
    }

    private func perform(_ action: ConnectivityMachine.Action) {
        switch action {
        case .probe(let delay, let number): startProbe(after: delay, number: number)
        case .announce(let from, let to):
            let failure = guarded.withLock { $0.failure.take() }
            let reason = to == .offline ? failure.map { [("reason", $0)] } ?? [] : []
            log.write(.info, "network", [("from", from.rawValue), ("to", to.rawValue)] + reason)
            events.emit(.network(from: from.rawValue, to: to.rawValue))
        case .cameOnline:
            let (waiters, listeners) = guarded.withLock { state in
                let waiting = Array(state.waiters.values)
                state.waiters = [:]
                return (waiting, state.listeners)
            }
            for waiter in waiters { waiter.resume() }
            for listener in listeners { listener() }
        }
    }

    // MARK: Probe

    private func startProbe(after delay: Double, number: UInt64) {
        let due = clock.now + delay
        let task = Task { [weak self, clock] in
            await clock.sleep(until: due)
            guard !Task.isCancelled else { return }
            await self?.probe(number: number)
        }
        let isStopped = guarded.withLock { state in
            if !state.isStopped { state.probe = task }
            return state.isStopped
        }
        if isStopped { task.cancel() }
    }

    private func probe(number: UInt64) async {
        let (isBehindPortal, suspected) = guarded.withLock { ($0.machine.isBehindPortal, $0.suspected) }
        do throws(OriginError) {
            // Behind a portal connections succeed, so only an answer shows the way out.
            if settings.current.probe.target == nil && !isBehindPortal {
                try await origin.probeConnection()
                handle(.probeSucceeded(number: number, status: nil))
                return
            }
            switch try await look(suspected: isBehindPortal ? suspected : nil) {
            case .origin(let status): handle(.probeSucceeded(number: number, status: status))
            case .notOrigin: handle(.probeFailed(number: number))
            }
        } catch {
            handle(.probeFailed(number: number))
        }
    }

    /// Asks for the probe target, else the origin's base, and judges the head of the answer.
    private func look(suspected: PortalSign?) async throws(OriginError) -> ProbeVerdict {
        let probe = settings.current.probe
        var fields: HTTPFields = ["Via": "1.1 holdfast", "Cache-Control": "no-cache"]
        if suspected == .unexpectedHTML { fields["Accept"] = "application/json" }
        let request = OriginRequest(method: .get, target: probe.target?.text ?? "", fields: fields)
        let response = try await origin.send(request)
        response.body.cancel()
        return ProbeVerdict.judge(
            status: response.status, fields: response.fields, base: origin.base, probe: probe, suspected: suspected)
    }
}
