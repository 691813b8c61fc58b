package import CacheCore
import HTTPModel
import Synchronization

/// What a read was planned by may be out of date: the entry is to be looked up again.
struct LookAgain: Error {}

/// The requests to the origin that are under way, so that concurrent misses ask once (design 3). Safe from any task.
package final class Flights: Sendable {
    /// What is asked for: entry, the fields that select a variant, and the part; nil: the whole.
    struct Key: Hashable, Sendable {
        var entry: EntryKey
        var selecting: [HTTPField]
        var fill: RangeFill?
    }

    private struct State {
        var table: [EntryKey: [Key: Flight]] = [:]
        /// How many flights came to their end so far.
        var endings: UInt64 = 0
        /// Whose the last of them were, each at its number modulo the limit.
        var ended: [EntryKey] = []

        mutating func end(_ entry: EntryKey) {
            let index = Int(endings % Flights.memory)
            if index < ended.count { ended[index] = entry } else { ended.append(entry) }
            endings += 1
        }

        /// Whether a flight for the entry may have ended since the ticket.
        func hasEnded(_ entry: EntryKey, since ticket: UInt64) -> Bool {
            guard endings - ticket <= Flights.memory else { return true }
            return (ticket..<endings).contains { ended[Int($0 % Flights.memory)] == entry }
        }
    }

    private let state = Mutex(State())
    /// How many endings are remembered.
    static let memory: UInt64 = 512
    /// Entries whose last answer was for its asker alone.
    private let unshareable = Mutex<Set<EntryKey>>([])
    private static let noteLimit = 4096

    private let expiries: ExpiryLog

    /// `expiries`: what the store has noted of its commits.
    package init(expiries: ExpiryLog) { self.expiries = expiries }

    /// To be taken before the entry is looked up.
    var ticket: UInt64 { state.withLock { $0.endings } }

    /// The flight for the key, or one that is about to bring what is `wanted` (of the representation's bytes), and whether it was
    /// just made: then the caller starts the request. nil where one would be made although another has ended since the `ticket`:
    /// what that brought is to be looked up first.
    func join(
        _ key: Key, wanted: Range<Int64> = 0..<Int64.max, since ticket: UInt64? = nil
    ) -> (flight: Flight, isNew: Bool)? {
        state.withLock { state in
            // What was asked for before a write is none for who asks after it.
            let known = (state.table[key.entry] ?? [:]).filter {
                !expiries.hasExpired(key.entry, since: $0.value.ticket)
            }
            if let flight = known[key] { return (flight, false) }
            for (other, flight) in known where other.selecting == key.selecting {
                let start = other.fill?.start ?? 0
                guard other.fill?.contains(wanted) ?? true else { continue }
                // What is far behind is fetched sooner by a request of its own.
                if wanted.lowerBound - flight.position(from: start) <= RangeFill.readAhead { return (flight, false) }
            }
            if let ticket, state.hasEnded(key.entry, since: ticket) { return nil }
            // Weak: the table may be gone before the flight is.
            let flight = Flight(since: expiries.ticket, retire: { [weak self] in self?.remove($0, key) })
            state.table[key.entry, default: [:]][key] = flight
            return (flight, true)
        }
    }

    /// Whether the last answer for the entry could not be shared.
    func isUnshareable(_ key: EntryKey) -> Bool { unshareable.withLock { $0.contains(key) } }

    /// Remembers whether an answer for the entry could be shared; the few that could not are forgotten in time.
    func note(_ key: EntryKey, isShareable: Bool) {
        unshareable.withLock { keys in
            if isShareable {
                keys.remove(key)
            } else {
                if keys.count >= Self.noteLimit { keys.removeAll() }
                keys.insert(key)
            }
        }
    }

    /// Takes a flight out of the table; nobody joins it any more. What others may use of it is committed by now. It may have been
    /// replaced there by a newer one: what it brought is expired then.
    private func remove(_ flight: Flight, _ key: Key) {
        state.withLock { state in
            guard state.table[key.entry]?[key] === flight else { return }
            state.table[key.entry]?[key] = nil
            if state.table[key.entry]?.isEmpty == true { state.table[key.entry] = nil }
            state.end(key.entry)
        }
    }

    /// A write went to the target: nobody joins the requests that are under way for it, and what they bring is stored expired.
    /// Call before the write is sent and again when its answer is there.
    package func invalidate(_ key: EntryKey) {
        let flights = state.withLock { $0.table.removeValue(forKey: key) }
        for flight in (flights ?? [:]).values { flight.invalidate() }
    }

    /// How many requests are under way.
    var count: Int { state.withLock { $0.table.values.reduce(0) { $0 + $1.count } } }
}
