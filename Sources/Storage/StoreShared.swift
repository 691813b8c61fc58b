import CacheCore
import Synchronization

/// What the store, its writer and its readers share.
final class StoreShared: Sendable {
    let options: StoreOptions
    let clock: any Clock
    let log: any Log
    let view: (any HitView)?
    let bodies: BodyFolder
    let uploads: UploadFolder
    let files: DatabaseFiles
    let reserve: DiskReserve
    let memory = StoreMemory()
    let jobs: JobQueue<WriteJob>
    let reads = JobQueue<ReadJob>()
    private let currentMode: Mutex<CacheMode>
    /// What becomes of copies that are written. Changed on the writer's thread.
    var mode: CacheMode {
        get { currentMode.withLock { $0 } }
        set { currentMode.withLock { $0 = newValue } }
    }

    init(
        options: StoreOptions, clock: any Clock, log: any Log, view: (any HitView)?, files: DatabaseFiles
    ) throws(FileError) {
        self.options = options
        currentMode = Mutex(options.mode)
        self.clock = clock
        self.log = log
        self.view = view
        let jobs = JobQueue<WriteJob>()
        self.jobs = jobs
        let patience = options.sharing == .mirror ? options.orphanRetention : nil
        bodies = try BodyFolder(path: files.bodies, patience: patience) { digest in
            // Once the store is closed nobody takes the job: the next start looks through all files.
            _ = jobs.add(
                WriteJob(work: .freeing { try $0.dropUnlessReferred(digest) }, isDurable: false, answer: { _ in }))
        }
        uploads = try UploadFolder(path: files.uploads)
        try Folder.synchronize(files.folder)
        self.files = files
        reserve = DiskReserve(folder: files.folder, path: files.reserve)
    }

    /// The error for who uses the store. One that tells of damage leaves a mark, so that the next start salvages.
    func storeError(_ error: SQLiteError) -> StoreError {
        if error.code.isCorrupt { noteDamage(error.message) }
        return error.storeError
    }

    /// The same for a record that can't be read.
    func recordError() -> StoreError {
        noteDamage("a record")
        return .corrupt(reason: "a record can't be read")
    }

    private func noteDamage(_ reason: String) {
        guard files.mark() else { return }
        log.write(.error, "the database is damaged; the next start salvages it", [("reason", reason)])
    }
}

/// A read that waits for a reader thread; nil: there is no connection to read with.
typealias ReadJob = @Sendable (Connection?) -> Void
