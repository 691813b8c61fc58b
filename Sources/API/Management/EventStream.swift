import CacheCore
import HTTPModel

/// /cache/events: server-sent events (design 9).
extension ManagementService {
    @Sendable func eventStream(_ call: ManagementCall) async throws -> ManagementReply {
        let feed = EventFeed(
            hub: events, partitions: try call.visiblePartitions().map { Set($0) },
            lastEventID: call.exchange.head.fields.combined("Last-Event-ID"), clock: context.clock)
        return ManagementReply(
            status: 200,
            // A proxy in between that gathers answers would hold events back.
            fields: ["Content-Type": "text/event-stream", "X-Accel-Buffering": "no"],
            body: .stream { exchange throws(ExchangeError) in try await feed.run(exchange) })
    }
}

/// One listener's stream: what its partitions may see, from where it stands.
struct EventFeed: Sendable {
    let hub: EventHub
    /// nil: all.
    let partitions: Set<PartitionID>?
    /// Where the client says it was.
    let lastEventID: String?
    let clock: any Clock

    /// Events of one piece: what waits for a reader that is slow is no more than this.
    private static let most = 256

    /// Until the client leaves or the service stops. One that has missed events is told `resync` and ends: it comes back with the
    /// id of that.
    func run(_ exchange: any Exchange) async throws(ExchangeError) {
        guard let (listener, joined) = hub.join() else { return }
        defer { hub.leave(listener) }
        exchange.onDeparture { hub.leave(listener) }
        var place = try await begin(exchange, at: joined)
        while true {
            switch hub.part(after: place, limit: Self.most) {
            case .missed:
                try await exchange.write(EventText.resync(at: hub.position, time: clock.now))
                return
            case .events(let events):
                guard let last = events.last else { break }
                place.number = last.number
                let bytes = Array(events.filter(isVisible).map(\.bytes).joined())
                if !bytes.isEmpty { try await exchange.write(bytes) }
                continue
            }
            switch await hub.wait(listener, after: place) {
            case .events: break
            case .heartbeat: try await exchange.write(EventText.heartbeat)
            case .over: return
            }
        }
    }

    /// Tells the client where it stands, so that it can come back before its first event; where what it missed is no longer known,
    /// it is told to read everything again.
    private func begin(_ exchange: any Exchange, at place: EventID) async throws(ExchangeError) -> EventID {
        if let id = lastEventID.flatMap({ EventID(text: $0) }), case .events = hub.part(after: id, limit: 1) {
            try await exchange.write(EventText.position(id))
            return id
        }
        let isBack = lastEventID != nil
        try await exchange.write(
            isBack ? EventText.resync(at: place, time: clock.now) : EventText.position(place))
        return place
    }

    private func isVisible(_ event: EventRecord) -> Bool {
        guard let partitions, let owner = event.partition else { return true }
        return partitions.contains(owner)
    }
}
