package import CacheCore

/// What delivery works with; made once by the composition. A class, since it is handed on many times an attempt. All members are safe
/// from any task.
package final class DeliveryContext: Sendable {
    package let queue: any DeliveryQueue & WriteQueue
    package let store: any Store
    package let origin: any Origin
    package let network: any Network
    package let credentials: CredentialKeeper
    package let sources: CredentialSources
    package let settings: SettingsBox
    package let clock: any Clock
    package let log: any Log
    /// In 0 ..< 1, for jitter.
    package let random: @Sendable () -> Double
    /// Names a conflict or a resolution's key: unique for ever.
    package let makeID: @Sendable () -> String
    /// SHA-256.
    package let digest: @Sendable ([UInt8]) -> Digest

    package init(
        queue: any DeliveryQueue & WriteQueue, store: any Store, origin: any Origin, network: any Network,
        credentials: CredentialKeeper, sources: CredentialSources, settings: SettingsBox, clock: any Clock,
        log: any Log, makeID: @escaping @Sendable () -> String, digest: @escaping @Sendable ([UInt8]) -> Digest,
        random: @escaping @Sendable () -> Double = { Double.random(in: 0..<1) }
    ) {
        self.queue = queue
        self.store = store
        self.origin = origin
        self.network = network
        self.credentials = credentials
        self.sources = sources
        self.settings = settings
        self.clock = clock
        self.log = log
        self.makeID = makeID
        self.digest = digest
        self.random = random
    }
}
