package import CacheCore
package import HTTPModel
import Synchronization

/// The configured credentials (design 10, `credentials`): headers whose present values come from files or commands.
///
/// A value is read at most once a second, and again after the origin refused it. It is used for what belongs to nobody, and
/// for the partitions of the identities that the sources have named in this process: a renewed token goes on for the one
/// before it, and another person's operations never leave under it (design 4, "Whose").
package final class CredentialSources: Sendable {
    private struct Cached: Sendable {
        var fields = HTTPFields()
        var readAt = -Double.infinity
        var refused = HTTPFields()
        var partitions: Set<PartitionID> = []
    }

    private let cached = Mutex(Cached())
    private let settings: SettingsBox
    private let clock: any Clock
    private let log: any Log
    private let partitionsOf: @Sendable (HTTPFields) -> [PartitionID]
    private let read: @Sendable (CredentialSource.Origin) async -> String?

    /// How long a value is used without asking again, in seconds.
    private static let lifetime = 1.0

    /// - Parameters:
    ///   - partitionsOf: the partitions of requests that carry these fields, one a store.
    ///   - read: gives the present value of a source, nil where it can't be had.
    package init(
        settings: SettingsBox, clock: any Clock, log: any Log,
        partitionsOf: @escaping @Sendable (HTTPFields) -> [PartitionID],
        read: @escaping @Sendable (CredentialSource.Origin) async -> String? = SecretReader.read
    ) {
        self.settings = settings
        self.clock = clock
        self.log = log
        self.partitionsOf = partitionsOf
        self.read = read
    }

    package var isConfigured: Bool { !settings.current.credentials.isEmpty }

    /// The fields to send for the partition; nil where no source is configured, readable and of that identity, or where the
    /// origin has refused the present value.
    package func fields(for partition: PartitionID) async -> HTTPFields? {
        let fields = await current()
        guard !fields.isEmpty else { return nil }
        return cached.withLock { state in
            if state.refused == fields { return nil }
            return partition == .none || state.partitions.contains(partition) ? fields : nil
        }
    }

    /// The origin refused these values: they are read again at once, and not used again while they stay the same.
    package func refused(_ fields: HTTPFields) {
        cached.withLock { state in
            guard state.fields == fields else { return }
            state.refused = fields
            state.readAt = -.infinity
        }
    }

    /// Reads the sources where the last reading is too old. Names the identity, so that the composition calls it at the start.
    @discardableResult
    package func current() async -> HTTPFields {
        let now = clock.now
        let sources = settings.current.credentials
        guard !sources.isEmpty else { return HTTPFields() }
        if let fresh = cached.withLock({ now - $0.readAt < Self.lifetime && now >= $0.readAt ? $0.fields : nil }) {
            return fresh
        }
        var fields = HTTPFields()
        for source in sources {
            guard let value = await read(source.source), Self.isFieldValue(value) else {
                log.write(
                    .warning, "a configured credential can't be read, or is no field value",
                    [("header", source.header)])
                continue
            }
            fields[source.header] = value
        }
        let partitions = fields.isEmpty ? [] : partitionsOf(fields)
        return cached.withLock { state in
            state.fields = fields
            state.readAt = now
            state.partitions.formUnion(partitions.filter { $0 != .none })
            return fields
        }
    }

    /// Not empty, and nothing in it that would end the field (RFC 9110 5.5).
    private static func isFieldValue(_ value: String) -> Bool {
        !value.isEmpty && value.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }
    }
}
