import CacheCore
import Synchronization

/// Tells of most entries that the database has not that it has not, without asking it: a Bloom filter of their keys. What is looked up
/// for the first time, or written to without ever having been read, costs no reader thread a turn.
///
/// Keys are only added, by the writer before it commits them. So whatever the database holds is in the filter, once all that it held at
/// the start is in too. Keys of removed entries stay until the filter is made anew. Callable from any thread.
final class KnownEntries: Sendable {
    enum Answer {
        /// The database has no such entry.
        case absent
        /// It may have one.
        case unknown
        /// The same, and the filter is full: whoever hears this first is to fill a new one.
        case outgrown
    }

    private struct Bits {
        var words: [UInt64]
        /// More keys than these make it too often say `unknown`.
        let capacity: Int
        var count = 0

        init(capacity: Int) {
            var size = 1 << 16
            while size < capacity { size *= 2 }
            self.capacity = size
            // 16 bits a key and 5 probes: one of 400 is taken for another.
            words = [UInt64](repeating: 0, count: size / 4)
        }

        /// The bit of a probe.
        private func place(_ hash: UInt64, _ probe: UInt64) -> Int {
            Int(truncatingIfNeeded: hash &+ probe &* (hash >> 32 | 1)) & (words.count * 64 - 1)
        }

        func contains(_ hash: UInt64) -> Bool {
            for probe in 0..<UInt64(5) {
                let bit = place(hash, probe)
                guard words[bit >> 6] & 1 << UInt64(bit & 63) != 0 else { return false }
            }
            return true
        }

        mutating func insert(_ hash: UInt64) {
            guard !contains(hash) else { return }
            count += 1
            for probe in 0..<UInt64(5) {
                let bit = place(hash, probe)
                words[bit >> 6] |= 1 << UInt64(bit & 63)
            }
        }
    }

    private struct State {
        /// Complete; nil until the first is.
        var bits: Bits?
        /// Being filled.
        var next: Bits?
    }

    private let state = Mutex(State())

    /// Before the writer begins: all keys of the database, of which there are about that many, are going to be given to `fill`.
    func prepare(entries: Int) { state.withLock { $0.next = Bits(capacity: entries * 2) } }

    func look(up key: EntryKey) -> Answer {
        let hash = Self.hash(key)
        return state.withLock { state in
            guard let bits = state.bits else { return .unknown }
            if !bits.contains(hash) { return .absent }
            guard bits.count > bits.capacity, state.next == nil else { return .unknown }
            state.next = Bits(capacity: bits.capacity * 4)
            return .outgrown
        }
    }

    /// False where the database has no such entry for sure.
    func mayHold(_ key: EntryKey) -> Bool {
        let hash = Self.hash(key)
        return state.withLock { $0.bits?.contains(hash) ?? true }
    }

    /// Before the entry is committed.
    func add(_ key: EntryKey) {
        let hash = Self.hash(key)
        state.withLock { state in
            state.bits?.insert(hash)
            state.next?.insert(hash)
        }
    }

    /// Adds keys that the database holds to the one that is being filled.
    func fill(_ keys: [EntryKey]) {
        let hashes = keys.map { Self.hash($0) }
        state.withLock { state in for hash in hashes { state.next?.insert(hash) } }
    }

    /// All keys of the database were given to `fill`, or, where they could not be read, it is given up.
    func finishFilling(isComplete: Bool) {
        state.withLock { state in
            if isComplete { state.bits = state.next }
            state.next = nil
        }
    }

    private static func hash(_ key: EntryKey) -> UInt64 { UInt64(truncatingIfNeeded: key.hashValue) }
}

extension SQLiteStore {
    private static let pageSize = 5_000

    /// Gives the filter the keys of all entries, page by page, so that other reads come between.
    static func fillKnown(_ shared: StoreShared) async {
        var last: EntryKey?
        while true {
            let after = last
            guard let keys = try? await read(shared, { try keys($0, after: after) }) else {
                return shared.memory.known.finishFilling(isComplete: false)
            }
            shared.memory.known.fill(keys)
            guard keys.count == pageSize else { break }
            last = keys.last
        }
        shared.memory.known.finishFilling(isComplete: true)
    }

    private static func keys(_ connection: Connection, after last: EntryKey?) throws -> [EntryKey] {
        let statement = try connection.statement(
            """
            SELECT partition, target FROM entries WHERE (partition, target) \(last == nil ? ">=" : ">") (?1, ?2)
            ORDER BY partition, target LIMIT ?3
            """)
        try statement.bind([
            .text(last?.partition.text ?? ""), .text(last?.target.text ?? ""), .integer(Int64(pageSize)),
        ])
        defer { statement.reset() }
        var keys: [EntryKey] = []
        while try statement.step() {
            guard let partition = PartitionID(text: statement.text(0)) else { throw RecordError() }
            keys.append(EntryKey(partition: partition, target: Target(unchecked: statement.text(1))))
        }
        return keys
    }
}
