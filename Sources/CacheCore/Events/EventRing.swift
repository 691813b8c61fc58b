/// The newest events, in order, up to a number of them. Pure; numbers rise by one, from 1.
package struct EventRing: Sendable {
    /// What there is behind a place in the stream.
    package enum Part: Sendable {
        /// In order; none: nothing new.
        case events([EventRecord])
        /// Some are gone that the reader has not had.
        case missed
    }

    private var records: [EventRecord]
    private let capacity: Int
    /// The number of the newest event; 0 before the first.
    package private(set) var latest: Int64 = 0

    /// `capacity`: at least 1.
    package init(capacity: Int) {
        self.capacity = capacity
        records = []
    }

    /// Makes the next event by its number, and lets go of the oldest where there is no room.
    package mutating func append(_ make: (Int64) -> EventRecord) {
        latest += 1
        let record = make(latest)
        if records.count < capacity {
            records.append(record)
        } else {
            records[index(of: latest)] = record
        }
    }

    /// At most `limit` events behind number `after`, which is 0 before the first.
    package func part(after: Int64, limit: Int) -> Part {
        guard after >= latest - Int64(records.count), after <= latest else { return .missed }
        let end = min(latest, after + Int64(limit))
        guard end > after else { return .events([]) }
        return .events((after + 1...end).map { records[index(of: $0)] })
    }

    private func index(of number: Int64) -> Int { Int((number - 1) % Int64(capacity)) }
}
