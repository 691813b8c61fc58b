import HTTPModel

/// How far a store is (design 11): known and open, serving, or stopped after it served.
package enum StoreStatus: String, Sendable, Hashable { case attached, started, stopped }

package enum StoreType: String, Sendable, Hashable, CaseIterable { case sqlite, memory }

/// What a process is for a mirrored store (design 11): an extension knows the mirror alone.
package enum StoreRole: String, Sendable, Hashable { case app, `extension` }

/// What one attached store is asked to be.
package struct StoreRequest: Sendable, Hashable {
    package var name: String
    package var paths: [PathPattern]
    package var type = StoreType.sqlite
    /// The folder; nil: `stores` in the data folder.
    package var location: String?
    /// The folder of the other side; nil: there is none.
    package var mirror: String?
    package var role = StoreRole.app
    /// Whether an extension delivers where no app does.
    package var delivers = false
    /// Whether reads fail where one side can't be read.
    package var mirrorStrict = false
    /// nil: made of the name.
    package var fileName: String?
    /// In bytes; nil: as the default store.
    package var maxStoreSize: Int64?
    /// nil: as the service, and with it.
    package var mode: CacheMode?
    /// nil: as the default store.
    package var strategy: StrategyName?
    package var overwriteIncompatible = false
    package var isStarted = true

    package init(name: String, paths: [PathPattern]) {
        self.name = name
        self.paths = paths
    }

    /// The file name in force: `holdfast[.NAME].TYPE`.
    package var file: String { fileName ?? "holdfast.\(name.asciiLowercased).\(type.rawValue)" }
}

/// How far the two sides of a mirrored store are.
package struct MirrorStatus: Sendable, Hashable {
    /// Sides that are left out.
    package var out: [StoreSide] = []
    /// Whether one side is known to lack what the other has.
    package var isBehind = false
    /// Whether this process delivers.
    package var delivers = false
    /// Of the last comparison of both sides: what was looked at, of how many, and what was copied.
    package var done: Int64 = 0
    package var total: Int64 = 0
    package var copied: Int64 = 0
    /// Bodies that it found damaged on both sides.
    package var damaged: Int64 = 0
    package var isComparing = false
    /// Failures of a side since the store was opened.
    package var failures: Int64 = 0

    package init() {}
}

/// A store as /cache/stores shows it.
package struct StoreDescription: Sendable {
    package var request: StoreRequest
    package var status: StoreStatus
    package var usage: StoreUsage
    /// nil: it has no mirror.
    package var mirror: MirrorStatus?

    package init(
        request: StoreRequest, status: StoreStatus, usage: StoreUsage, mirror: MirrorStatus? = nil
    ) {
        self.mirror = mirror
        self.request = request
        self.status = status
        self.usage = usage
    }
}

/// Attaches and detaches stores while requests run, and says what they save. Callable from any task; calls take effect one
/// after the other. Throws `Problem`.
package protocol StoreKeeping: Sendable {
    /// All that are attached, the default one first.
    func stores() async throws -> [StoreDescription]
    /// The names of the same, each with the patterns of its targets.
    var patterns: [(store: String, paths: [PathPattern])] { get }
    /// One after the other; where one fails, those before it stay attached.
    func attach(_ requests: [StoreRequest]) async throws -> [StoreDescription]
    /// A second start or stop changes nothing.
    func setStarted(_ isStarted: Bool, of name: String) async throws -> StoreDescription
    /// Moves the primary location of a mirrored store to another folder while it runs; the old files go.
    func move(_ name: String, to location: String) async throws -> StoreDescription
    /// Compares both sides of a mirrored store and gives each what the other has; `byDigest` what is damaged on one of them is mended
    /// too. `progress` is told how far it is. The status at its end.
    func compare(
        _ name: String, byDigest: Bool, progress: @escaping @Sendable (MirrorStatus) -> Void
    ) async throws -> MirrorStatus
    /// Keeps the files. `leavingOperations`: unfinished ones wait in it.
    func detach(_ name: String, leavingOperations: Bool) async throws
    /// Of the default store, and of all that have none of their own.
    var mode: CacheMode { get }
    /// Refuses `no` with `operations-pending` where there are unfinished operations.
    func setMode(_ mode: CacheMode) async throws
    /// False where the mode saves nothing for this reason.
    func save(for reason: SaveReason) async throws -> Bool
}
