import CacheCore
import HTTPModel

/// With whose credential an entry is refreshed (design 4, "Whose").
struct RefreshKeys: Sendable {
    let credentials: CredentialKeeper
    let sources: CredentialSources

    /// What belongs to nobody is asked for without one, as it was; a partition only with a credential of its identity: nil where none
    /// is known.
    func fields(for partition: PartitionID) async -> HTTPFields? {
        if partition == .none { return HTTPFields() }
        if let known = credentials.fields(for: partition) { return known }
        return await sources.fields(for: partition)
    }
}
