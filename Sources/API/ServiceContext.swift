package import CacheCore
import HTTPModel

/// What every handler works with; made once by the composition. A class, since it is handed on many times a request. All members are safe from any task.
package final class ServiceContext: Sendable {
    package let store: any Store
    package let uploads: any UploadStore
    package let origin: any Origin
    package let queue: any WriteQueue
    package let delivery: any Delivery
    package let network: any Network
    package let credentials: CredentialKeeper
    package let settings: SettingsBox
    /// What the store has noted of its commits.
    package let expiries: ExpiryLog
    package let clock: any Clock
    package let events: any EventSink
    package let log: any Log
    /// SHA-256.
    package let digest: @Sendable ([UInt8]) -> Digest
    /// Hashes what passes by.
    package let hash: @Sendable (HashAlgorithm) -> any RunningHash
    /// A keyed hash of an identity: the key, then the identity.
    package let partitionHash: @Sendable ([UInt8], [UInt8]) -> PartitionID

    package init(
        store: any Store, uploads: any UploadStore, origin: any Origin, queue: any WriteQueue, delivery: any Delivery,
        network: any Network, credentials: CredentialKeeper, settings: SettingsBox, expiries: ExpiryLog,
        clock: any Clock, events: any EventSink, log: any Log,
        digest: @escaping @Sendable ([UInt8]) -> Digest,
        hash: @escaping @Sendable (HashAlgorithm) -> any RunningHash,
        partitionHash: @escaping @Sendable ([UInt8], [UInt8]) -> PartitionID
    ) {
        self.store = store
        self.uploads = uploads
        self.origin = origin
        self.queue = queue
        self.delivery = delivery
        self.network = network
        self.credentials = credentials
        self.settings = settings
        self.expiries = expiries
        self.clock = clock
        self.events = events
        self.log = log
        self.digest = digest
        self.hash = hash
        self.partitionHash = partitionHash
    }

    /// What Sync-State, /cache and the events say of an entry; `listed` for one that is known from a list alone.
    func state(of entry: Entry) -> String {
        let state = queue.syncState(of: entry.key)
        return state == "synced" && entry.copies.first?.isListed ?? false ? "listed" : state
    }

    /// Tells the listeners that something of the entry has changed.
    package func announce(_ entry: Entry) {
        events.emit(.entry(entry.key, state: state(of: entry), deleted: entry.copies.first?.isGone ?? false))
    }

    /// Whose a request for the target is, in the store that has the target.
    func identity(of fields: HTTPFields, at target: Target, settings: Settings) -> Identity {
        Identity.of(fields: fields, target: target, settings: settings) {
            partitionHash(store.partitionKey(of: target), $0)
        }
    }
}
