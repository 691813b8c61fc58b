import CacheCore

/// What the store, its writer and its readers share.
final class StoreShared: Sendable {
    let options: StoreOptions
    let clock: any Clock
    let log: any Log
    let view: (any HitView)?
    let bodies: BodyFolder
    let memory = StoreMemory()
    let jobs = JobQueue<WriteJob>()
    let reads = JobQueue<ReadJob>()

    init(options: StoreOptions, clock: any Clock, log: any Log, view: (any HitView)?, bodies: BodyFolder) {
        self.options = options
        self.clock = clock
        self.log = log
        self.view = view
        self.bodies = bodies
    }
}

/// A read that waits for a reader thread; nil: there is no connection to read with.
typealias ReadJob = @Sendable (Connection?) -> Void
