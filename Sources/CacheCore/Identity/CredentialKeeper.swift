package import HTTPModel
import Synchronization

/// The newest credential of each identity that the origin has accepted. In memory only: secrets never reach the disk (design 4,
/// "Whose"; 10). Anybody may bring values without end, so those that were used least recently go where all hold more than `limit`;
/// who comes again with one proves it anew. Safe from any thread.
package final class CredentialKeeper: Sendable {
    private struct Known: Sendable {
        var fields = HTTPFields()
        /// Values that the origin answered with anything but 401 and 403, newest last, a few.
        var proven: [HTTPFields] = []
        /// In the order of uses.
        var usedAt = 0
        /// Bytes that it takes, roughly.
        var size = 0

        mutating func measure() {
            size = proven.reduce(256) { $0 + Self.size(of: $1) } + (proven.contains(fields) ? 0 : Self.size(of: fields))
        }

        private static func size(of fields: HTTPFields) -> Int {
            fields.reduce(64) { $0 + $1.name.utf8.count + $1.value.utf8.count }
        }
    }

    private struct Table: Sendable {
        var known: [PartitionID: Known] = [:]
        var size = 0
        var uses = 0
        /// The size from which some go.
        var most: Int
        /// Tells what must stay.
        var needed: (@Sendable () -> Set<PartitionID>)?

        /// Changes what is known of the partition. True where some must go.
        mutating func change(_ partition: PartitionID, _ body: (inout Known) -> Void) -> Bool {
            var entry = known[partition] ?? Known()
            size -= entry.size
            body(&entry)
            entry.measure()
            size += entry.size
            uses += 1
            entry.usedAt = uses
            known[partition] = entry
            return size > most
        }

        mutating func remove(_ partition: PartitionID) {
            size -= known.removeValue(forKey: partition)?.size ?? 0
        }

        mutating func noteUse(of partition: PartitionID) {
            uses += 1
            known[partition]?.usedAt = uses
        }
    }

    private let table: Mutex<Table>
    private let limit: Int
    private let listener = Listener<PartitionID>()
    private static let provenLimit = 8

    /// `limit`: what all values may take, in bytes.
    package init(limit: Int = 32 << 20) {
        self.limit = limit
        table = Mutex(Table(most: limit))
    }

    /// The origin answered a request that carried these credential fields with anything but 401 or 403.
    /// Where the partition had none before, or another, the listener is told: what waits for a credential may go on.
    package func accepted(_ fields: HTTPFields, for partition: PartitionID) {
        guard partition != .none, !fields.isEmpty else { return }
        let (isNew, isOver) = table.withLock { table in
            if let entry = table.known[partition], entry.fields == fields, entry.proven.contains(fields) {
                table.noteUse(of: partition)
                return (false, false)
            }
            var isNew = false
            let isOver = table.change(partition) { entry in
                isNew = entry.fields != fields
                entry.fields = fields
                guard !entry.proven.contains(fields) else { return }
                entry.proven.append(fields)
                if entry.proven.count > Self.provenLimit { entry.proven.removeFirst() }
            }
            return (isNew, isOver)
        }
        if isOver { forgetSome() }
        if isNew { listener.tell(partition) }
    }

    /// A client queued a write, or read what it had queued, with these values, which alone make the partition (no `partitionBy`):
    /// another value can't belong to it, so they are used for its delivery although the origin has not seen them yet. Known ones stay;
    /// where there were none the listener is told.
    package func offered(_ fields: HTTPFields, for partition: PartitionID) {
        guard partition != .none, !fields.isEmpty else { return }
        let (isNew, isOver) = table.withLock { table in
            guard table.known[partition]?.fields.isEmpty ?? true else {
                table.noteUse(of: partition)
                return (false, false)
            }
            return (true, table.change(partition) { $0.fields = fields })
        }
        if isOver { forgetSome() }
        if isNew { listener.tell(partition) }
    }

    /// Sets what is called when a partition has got a new credential. On any thread; must not block.
    package func onArrival(_ call: @escaping @Sendable (PartitionID) -> Void) { listener.set(call) }

    /// Sets who is asked which partitions must keep their credential, such as those whose writes wait. On any thread; must not block.
    package func keep(_ needed: @escaping @Sendable () -> Set<PartitionID>) { table.withLock { $0.needed = needed } }

    /// Takes out what was used least recently, down to three quarters, so that what comes next need not look again.
    private func forgetSome() {
        let needed = table.withLock { $0.needed }?() ?? []
        table.withLock { table in
            guard table.size > table.most else { return }
            let order = table.known.filter { !needed.contains($0.key) }.sorted { $0.value.usedAt < $1.value.usedAt }
            for (partition, _) in order {
                guard table.size > limit / 4 * 3 else { break }
                table.remove(partition)
            }
            table.most = max(limit, table.size + limit / 4)
        }
    }

    /// The origin refused these values (401): they are no longer used for replay and no longer proven.
    package func refused(_ fields: HTTPFields, for partition: PartitionID) {
        table.withLock { table in
            guard var entry = table.known[partition] else { return }
            entry.proven.removeAll { $0 == fields }
            if entry.fields == fields { entry.fields = entry.proven.last ?? HTTPFields() }
            if entry.fields.isEmpty && entry.proven.isEmpty {
                table.remove(partition)
            } else {
                _ = table.change(partition) { $0 = entry }
            }
        }
    }

    /// Whether the origin has accepted exactly these values for the partition in this process.
    package func isProven(_ fields: HTTPFields, for partition: PartitionID) -> Bool {
        table.withLock { table in
            guard table.known[partition]?.proven.contains(fields) ?? false else { return false }
            table.noteUse(of: partition)
            return true
        }
    }

    /// The credential fields to send for the partition; nil where none is known.
    package func fields(for partition: PartitionID) -> HTTPFields? {
        table.withLock { table in
            guard let fields = table.known[partition]?.fields, !fields.isEmpty else { return nil }
            table.noteUse(of: partition)
            return fields
        }
    }
}
