package import CacheCore
import HTTPModel
import Synchronization

/// The requests to the origin that are under way, so that concurrent misses ask once (design 3). Safe from any task.
package final class Flights: Sendable {
    /// What must be equal for two reads to share a request: entry, method, and the fields that select a variant.
    struct Key: Hashable, Sendable {
        var entry: EntryKey
        var selecting: [HTTPField]
    }

    private let table = Mutex<[EntryKey: [Key: Flight]]>([:])

    package init() {}

    /// The flight for the key, and whether it was just made: then the caller starts the request.
    func join(_ key: Key) -> (flight: Flight, isNew: Bool) {
        table.withLock { table in
            if let flight = table[key.entry]?[key] { return (flight, false) }
            // Weak: the table may be gone before the flight is.
            let flight = Flight(retire: { [weak self] in self?.remove($0, key) })
            table[key.entry, default: [:]][key] = flight
            return (flight, true)
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
