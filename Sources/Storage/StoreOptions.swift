package import CacheCore

/// What a store is opened with.
package struct StoreOptions: Sendable {
    /// What copies and operations together may hold, in bytes; copies alone nine tenths of it.
    package var maxStoreSize: Int64
    /// Bodies up to this many bytes lie in the row, longer ones in files.
    package var inlineThreshold: Int
    /// How long finished operations, closed conflicts and key records stay, in seconds.
    package var receiptRetention: Double
    /// How long an upload stays that nobody touches, in seconds.
    package var uploadRetention: Double
    /// The longest body, in bytes; nil: what the store can hold.
    package var maxBodySize: Int64?
    /// Whether a file that is no store of this version or an earlier one is deleted, and a new store made in its place.
    package var overwritesIncompatible: Bool
    /// Which copies the next start finds.
    package var mode: CacheMode
    /// How soon copies are written.
    package var strategy: StrategyName
    /// The configured policies as they are now: they tell which copies may go to make room.
    package var policies: @Sendable () -> PolicyTable
    /// How long a body that no row refers to stays in a folder that other processes use too, in seconds.
    package var orphanRetention = 600.0
    /// Whether it is one side of a mirrored store.
    package var sharing = StoreSharing.alone
    /// Whether it is filled from a store that stays the valid one until then: another copy may take its place, should that be cut short.
    package var isCopy = false

    package init(
        maxStoreSize: Int64 = 1 << 30, inlineThreshold: Int = 16_384, receiptRetention: Double = 7 * 86_400,
        uploadRetention: Double = 86_400, maxBodySize: Int64? = nil, overwritesIncompatible: Bool = false,
        mode: CacheMode = .automatic, strategy: StrategyName = .mixed,
        policies: @escaping @Sendable () -> PolicyTable = { PolicyTable() }
    ) {
        self.maxStoreSize = maxStoreSize
        self.inlineThreshold = inlineThreshold
        self.receiptRetention = receiptRetention
        self.uploadRetention = uploadRetention
        self.maxBodySize = maxBodySize
        self.overwritesIncompatible = overwritesIncompatible
        self.mode = mode
        self.strategy = strategy
        self.policies = policies
    }
}

/// Whether another store has the same rows, and another process the same files.
package enum StoreSharing: Sendable, Hashable {
    case alone
    /// The side that this process alone has.
    case primary
    /// The side that other processes open too.
    case mirror
}

/// Why a store could not be opened.
package enum StoreOpenError: Error, Sendable, Hashable, CustomStringConvertible {
    /// Another process, or another store of this one, has it open.
    case inUse
    /// A later version of Holdfast wrote it; it was left as it is.
    case newerVersion(Int)
    /// The file is no store of Holdfast's; it was left as it is.
    case foreign
    /// No database may lie there, for what `reason` says to who asked for it.
    case misplaced(reason: String)
    case failed(reason: String)
    /// A side of a mirrored store could not be opened.
    indirect case side(StoreSide, StoreOpenError)

    package var description: String {
        switch self {
        case .inUse: "the store is in use"
        case .newerVersion(let version):
            "a later version of Holdfast made the store (format \(version), known here: \(Schema.version)); start that one"
        case .foreign: "the file is no store of Holdfast's"
        case .misplaced(let reason): reason
        case .failed(let reason): "the store can't be opened: \(reason)"
        case .side(let side, let error): "\(side.rawValue): \(error)"
        }
    }
}
