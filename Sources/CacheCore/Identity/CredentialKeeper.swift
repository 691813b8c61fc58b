package import HTTPModel
import Synchronization

/// The newest credential of each identity that the origin has accepted. In memory only: secrets never reach the disk (design 4,
/// "Whose"; 10). Safe from any thread.
package final class CredentialKeeper: Sendable {
    private struct Known: Sendable {
        var fields: HTTPFields
        /// Values that the origin answered with anything but 401 and 403, newest last, a few.
        var proven: [HTTPFields]
    }

    private let known = Mutex<[PartitionID: Known]>([:])
    private let listener = Listener<PartitionID>()
    private static let provenLimit = 8

    package init() {}

    /// The origin answered a request that carried these credential fields with anything but 401 or 403.
    /// Where the partition had none before, or another, the listener is told: what waits for a credential may go on.
    package func accepted(_ fields: HTTPFields, for partition: PartitionID) {
        guard partition != .none, !fields.isEmpty else { return }
        let isNew = known.withLock { table in
            var entry = table[partition] ?? Known(fields: HTTPFields(), proven: [])
            let isNew = entry.fields != fields
            entry.fields = fields
            if !entry.proven.contains(fields) {
                entry.proven.append(fields)
                if entry.proven.count > Self.provenLimit { entry.proven.removeFirst() }
            }
            table[partition] = entry
            return isNew
        }
        if isNew { listener.tell(partition) }
    }

    /// A client queued a write, or read what it had queued, with these values, which alone make the partition (no `partitionBy`):
    /// another value can't belong to it, so they are used for its delivery although the origin has not seen them yet. Known ones stay;
    /// where there were none the listener is told.
    package func offered(_ fields: HTTPFields, for partition: PartitionID) {
        guard partition != .none, !fields.isEmpty else { return }
        let isNew = known.withLock { table in
            guard table[partition]?.fields.isEmpty ?? true else { return false }
            table[partition, default: Known(fields: fields, proven: [])].fields = fields
            return true
        }
        if isNew { listener.tell(partition) }
    }

    /// Sets what is called when a partition has got a new credential. On any thread; must not block.
    package func onArrival(_ call: @escaping @Sendable (PartitionID) -> Void) { listener.set(call) }

    /// The origin refused these values (401): they are no longer used for replay and no longer proven.
    package func refused(_ fields: HTTPFields, for partition: PartitionID) {
        known.withLock { table in
            guard var entry = table[partition] else { return }
            entry.proven.removeAll { $0 == fields }
            if entry.fields == fields { entry.fields = entry.proven.last ?? HTTPFields() }
            table[partition] = entry.fields.isEmpty && entry.proven.isEmpty ? nil : entry
        }
    }

    /// Whether the origin has accepted exactly these values for the partition in this process.
    package func isProven(_ fields: HTTPFields, for partition: PartitionID) -> Bool {
        known.withLock { $0[partition]?.proven.contains(fields) ?? false }
    }

    /// The credential fields to send for the partition; nil where none is known.
    package func fields(for partition: PartitionID) -> HTTPFields? {
        known.withLock { table in
            guard let fields = table[partition]?.fields, !fields.isEmpty else { return nil }
            return fields
        }
    }
}
