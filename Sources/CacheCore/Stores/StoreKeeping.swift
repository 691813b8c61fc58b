import HTTPModel

/// How far a store is (design 11): known and open, serving, or stopped after it served.
package enum StoreStatus: String, Sendable, Hashable { case attached, started, stopped }

package enum StoreType: String, Sendable, Hashable, CaseIterable { case sqlite, memory }

/// What one attached store is asked to be.
package struct StoreRequest: Sendable, Hashable {
    package var name: String
    package var paths: [PathPattern]
    package var type = StoreType.sqlite
    /// The folder; nil: `stores` in the data folder.
    package var location: String?
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

/// A store as /cache/stores shows it.
package struct StoreDescription: Sendable {
    package var request: StoreRequest
    package var status: StoreStatus
    package var usage: StoreUsage
    /// Unfinished operations in it.
    package var operations: Int

    package init(request: StoreRequest, status: StoreStatus, usage: StoreUsage, operations: Int) {
        self.request = request
        self.status = status
        self.usage = usage
        self.operations = operations
    }
}

/// Attaches and detaches stores while requests run, and says what they save. Callable from any task; calls take effect one
/// after the other. Throws `Problem`.
package protocol StoreKeeping: Sendable {
    /// All that are attached, the default one first.
    func stores() async throws -> [StoreDescription]
    /// One after the other; where one fails, those before it stay attached.
    func attach(_ requests: [StoreRequest]) async throws -> [StoreDescription]
    /// A second start or stop changes nothing.
    func setStarted(_ isStarted: Bool, of name: String) async throws -> StoreDescription
    /// Keeps the files. `leavingOperations`: unfinished ones wait in it.
    func detach(_ name: String, leavingOperations: Bool) async throws
    /// Of the default store, and of all that have none of their own.
    var mode: CacheMode { get }
    /// Refuses `no` with `operations-pending` where there are unfinished operations.
    func setMode(_ mode: CacheMode) async throws
    /// False where the mode saves nothing for this reason.
    func save(for reason: SaveReason) async throws -> Bool
}
