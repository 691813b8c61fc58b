import Synchronization

/// Hands events to whoever listens on /cache/events (design 9).
///
/// Emitting appends to a ring and returns: it never waits for a listener, and does the same work for one as for a thousand. Each
/// listener reads the ring at its own pace from where it stands; one that falls behind the ring has missed events and is told
/// so. Listeners are woken together and at most every `pause` seconds, so that a burst costs each of them one write.
package final class EventHub: EventSink {
    /// What a listener was woken for.
    package enum Wake: Sendable {
        /// There may be something new.
        case events
        /// It is time for a comment.
        case heartbeat
        /// The listener has left, or the service stops.
        case over
    }

    package struct ListenerID: Sendable, Hashable { fileprivate let number: UInt64 }

    private struct State: Sendable {
        var ring: EventRing
        /// Those that wait have a continuation.
        var listeners: [ListenerID: CheckedContinuation<Wake, Never>?] = [:]
        var lastListener: UInt64 = 0
        var isRousing = false
        /// Whether one that is behind has come to wait during the pause.
        var isSomebodyBehind = false
        var beat: Task<Void, Never>?
        var isClosed = false

        mutating func takeWaiting() -> [CheckedContinuation<Wake, Never>] {
            var waiting: [CheckedContinuation<Wake, Never>] = []
            for (id, continuation) in listeners {
                guard let continuation else { continue }
                waiting.append(continuation)
                listeners[id] = .some(nil)
            }
            return waiting
        }
    }

    private let state: Mutex<State>
    private let clock: any Clock
    private let epoch: Int64
    private let heartbeat: Double
    private let pause: Double

    /// `epoch` counts starts of the service. `capacity`: how many events are kept for those that come back. `heartbeat`: seconds
    /// between two comments that show whether a connection lives. `pause`: seconds between two wakings.
    package init(clock: any Clock, epoch: Int64, capacity: Int = 8192, heartbeat: Double, pause: Double = 0.02) {
        self.clock = clock
        self.epoch = epoch
        self.heartbeat = heartbeat
        self.pause = pause
        state = Mutex(State(ring: EventRing(capacity: capacity)))
    }

    // MARK: Emitting

    package func emit(_ event: Event) {
        let now = clock.now
        let rouses = state.withLock { state in
            state.ring.append { EventRecord(event, number: $0, epoch: epoch, at: now) }
            guard !state.listeners.isEmpty, !state.isRousing else { return false }
            state.isRousing = true
            return true
        }
        if rouses { Task { await rouse() } }
    }

    /// Wakes all that wait, and again after a pause where more has come meanwhile.
    private func rouse() async {
        while true {
            let (waiting, seen) = state.withLock { state in
                state.isSomebodyBehind = false
                return (state.takeWaiting(), state.ring.latest)
            }
            for continuation in waiting { continuation.resume(returning: .events) }
            await clock.sleep(until: clock.now + pause)
            let isDone = state.withLock { state in
                state.isRousing = !state.isClosed && (state.ring.latest != seen || state.isSomebodyBehind)
                return !state.isRousing
            }
            if isDone { return }
        }
    }

    // MARK: Listening

    /// Where the stream stands.
    package var position: EventID { EventID(epoch: epoch, number: state.withLock { $0.ring.latest }) }

    /// At most `limit` events behind `id`; `missed` also for an id of another start, or of the future.
    package func part(after id: EventID, limit: Int) -> EventRing.Part {
        guard id.epoch == epoch else { return .missed }
        return state.withLock { $0.ring.part(after: id.number, limit: limit) }
    }

    /// Registers a listener until `leave`, and tells where the stream stood then: nothing later is missed. nil once closed.
    package func join() -> (listener: ListenerID, place: EventID)? {
        state.withLock { state in
            guard !state.isClosed else { return nil }
            state.lastListener += 1
            let id = ListenerID(number: state.lastListener)
            state.listeners[id] = .some(nil)
            if state.beat == nil { state.beat = Task { await beat() } }
            return (id, EventID(epoch: epoch, number: state.ring.latest))
        }
    }

    /// Returns at once where events stand behind `id`, else when something comes. One call at a time for each listener.
    package func wait(_ listener: ListenerID, after id: EventID) async -> Wake {
        await withCheckedContinuation { continuation in
            let wake: Wake? = state.withLock { state in
                guard !state.isClosed, state.listeners[listener] != nil else { return .over }
                if state.ring.latest != id.number {
                    guard state.isRousing else { return .events }
                    // The pause ends with a waking.
                    state.isSomebodyBehind = true
                }
                state.listeners[listener] = .some(continuation)
                return nil
            }
            if let wake { continuation.resume(returning: wake) }
        }
    }

    /// Ends the listener's waiting, and forgets it. Callable from any thread, more than once.
    package func leave(_ listener: ListenerID) {
        let (waiting, beat) = state.withLock { state in
            let waiting = state.listeners.removeValue(forKey: listener) ?? nil
            return (waiting, state.listeners.isEmpty ? state.beat.take() : nil)
        }
        beat?.cancel()
        waiting?.resume(returning: .over)
    }

    /// How many listen, for the metrics.
    package var listenerCount: Int { state.withLock { $0.listeners.count } }

    /// Ends all listening, for the end of the service.
    package func close() {
        let (waiting, beat) = state.withLock { state in
            state.isClosed = true
            return (state.takeWaiting(), state.beat.take())
        }
        beat?.cancel()
        for continuation in waiting { continuation.resume(returning: .over) }
    }

    /// One timer for all: runs while somebody listens.
    private func beat() async {
        while !Task.isCancelled {
            await clock.sleep(until: clock.now + heartbeat)
            guard !Task.isCancelled else { return }
            let waiting = state.withLock { $0.takeWaiting() }
            for continuation in waiting { continuation.resume(returning: .heartbeat) }
        }
    }
}
