package import CacheCore
import HTTPModel
import Synchronization

/// The requests to the origin that are under way, so that concurrent misses ask once (design 3). Safe from any task.
package final class Flights: Sendable {
    /// What is asked for: entry, the fields that select a variant, and the part; nil: the whole.
    struct Key: Hashable, Sendable {
        var entry: EntryKey
        var selecting: [HTTPField]
        var fill: RangeFill?
    }

    private let table = Mutex<[EntryKey: [Key: Flight]]>([:])
    /// Entries whose last answer was for its asker alone.
    private let unshareable = Mutex<Set<EntryKey>>([])
    private static let noteLimit = 4096

    package init() {}

    /// The flight for the key, or one that is about to bring what is `wanted` (of the representation's bytes), and whether it was
    /// just made: then the caller starts the request.
    func join(_ key: Key, wanted: Range<Int64> = 0..<Int64.max) -> (flight: Flight, isNew: Bool) {
        table.withLock { table in
            let known = table[key.entry] ?? [:]
            if let flight = known[key] { return (flight, false) }
            for (other, flight) in known where other.selecting == key.selecting {
                let start = other.fill?.start ?? 0
                guard other.fill?.contains(wanted) ?? true else { continue }
                // What is far behind is fetched sooner by a request of its own.
                if wanted.lowerBound - flight.position(from: start) <= RangeFill.readAhead { return (flight, false) }
            }
            // Weak: the table may be gone before the flight is.
            let flight = Flight(retire: { [weak self] in self?.remove($0, key) })
            table[key.entry, default: [:]][key] = flight
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

    /// Takes a flight out of the table; nobody joins it any more. It may have been replaced there by a newer one.
    private func remove(_ flight: Flight, _ key: Key) {
        table.withLock { table in
            guard table[key.entry]?[key] === flight else { return }
            table[key.entry]?[key] = nil
            if table[key.entry]?.isEmpty == true { table[key.entry] = nil }
        }
    }

    /// A write went to the target: nobody joins the requests that are under way for it, and what they bring is stored expired.
    /// Call before the write is sent and again when its answer is there.
    package func invalidate(_ key: EntryKey) {
        let flights = table.withLock { $0.removeValue(forKey: key) }
        for flight in (flights ?? [:]).values { flight.invalidate() }
    }

    /// How many requests are under way.
    var count: Int { table.withLock { $0.values.reduce(0) { $0 + $1.count } } }
}
