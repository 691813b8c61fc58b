package import CacheCore
import Glibc
import Synchronization

/// A store in a folder: SQLite for what is small, files for long bodies.
///
/// One thread writes, two read, four work on body files. Callable from any task.
package final class SQLiteStore: Store {
    package let epoch: Int64
    package let partitionKey: [UInt8]
    let shared: StoreShared
    let files: FileThreads
    let behind: WriteBehind
    /// Which file the database is.
    let identity: UInt64?
    private let lock: FileHandle
    private let writer: ServiceThread
    private let readers: [ServiceThread]
    private let upkeep = Mutex<Task<Void, Never>?>(nil)

    /// Opens the store in `folder`, making what is missing: the only one there, or the one of the file `name`. A second opening is
    /// refused.
    package static func open(
        folder: String, name: String? = nil, options: StoreOptions = StoreOptions(), clock: any Clock, log: any Log,
        view: (any HitView)? = nil
    ) throws(StoreOpenError) -> SQLiteStore {
        do {
            return try SQLiteStore(
                DatabaseFiles(folder: folder, name: name ?? DatabaseFiles.usualName), options: options, clock: clock,
                log: log, view: view)
        } catch let error as StoreOpenError {
            throw error
        } catch let error as SQLiteError {
            throw .failed(reason: "\(error.storeError)")
        } catch let error as FileError {
            throw .failed(reason: "\(error.storeError)")
        } catch {
            throw .failed(reason: "the database can't be read")
        }
    }

    /// The same on a thread of its own, for who may not block. Refuses what `DatabaseFiles.checkPlace` does.
    package static func opening(
        folder: String, name: String, options: StoreOptions, clock: any Clock, log: any Log, view: (any HitView)?
    ) async throws(StoreOpenError) -> SQLiteStore {
        let outcome: Result<SQLiteStore, StoreOpenError> = await withCheckedContinuation { continuation in
            do throws(FileError) {
                _ = try ServiceThread {
                    do throws(StoreOpenError) {
                        try DatabaseFiles(folder: folder, name: name).checkPlace()
                        continuation.resume(
                            returning: .success(
                                try open(
                                    folder: folder, name: name, options: options, clock: clock, log: log, view: view)))
                    } catch {
                        continuation.resume(returning: .failure(error))
                    }
                }
            } catch {
                continuation.resume(returning: .failure(.failed(reason: "\(error.storeError)")))
            }
        }
        return try outcome.get()
    }

    private init(
        _ database: DatabaseFiles, options: StoreOptions, clock: any Clock, log: any Log, view: (any HitView)?
    ) throws {
        try Folder.makeAll(database.folder)
        _ = unsafe chmod(database.folder, 0o700)
        lock = try FileHandle(path: database.lock, flags: O_RDWR | O_CREAT)
        // Of those that share the files one at a time opens them.
        let opening = try Self.lock(lock, database, options.sharing)
        defer { withExtendedLifetime(opening) {} }
        try Compatibility.check(database, overwrites: options.overwritesIncompatible)
        // Whoever opens a store has use for it.
        if options.isCopy { try database.markAsCopy() } else { try database.unmarkAsCopy() }
        let shared = try StoreShared(options: options, clock: clock, log: log, view: view, files: database)
        self.shared = shared
        behind = WriteBehind(options.strategy.strategy, view: view, clock: clock, log: log)
        behind.writes { (changes, durable, updatesView) throws(StoreError) in
            try await Self.write(.changes(changes), durable: durable, updatesView: updatesView, to: shared)
        }
        let path = shared.files.path
        let start = try Self.start(shared)
        identity = database.identity
        if options.sharing != .alone { try Self.connect(path).execute(StoreTransaction.stampTables) }
        shared.uploads.removeAll(but: start.uploads)
        epoch = start.epoch
        partitionKey = start.partitionKey
        shared.memory.state.withLock { state in
            for stored in start.operations { state.set(stored, for: stored.operation.id) }
            for conflict in start.conflicts { state.set(conflict, for: conflict.id) }
            state.totals = start.totals
        }
        shared.memory.known.prepare(entries: Int(clamping: start.totals.entries))
        // Threads last: nothing else would end them where the opening fails.
        do {
            files = try FileThreads()
            writer = try ServiceThread {
                StoreWriter(path: path, shared: shared).run()
            }
            readers = try (0..<2).map { _ in
                try ServiceThread {
                    var connection = try? Self.connect(path)
                    while let job = shared.reads.takeFirst() {
                        if connection == nil { connection = try? Self.connect(path) }
                        job(connection)
                    }
                }
            }
        } catch {
            shared.jobs.close()
            shared.reads.close()
            throw error
        }
        upkeep.withLock { $0 = Task { await Self.keepUp(shared) } }
    }

    /// Whether no other process has the files open; none can open them from then on.
    var isAlone: Bool {
        if flock(lock.descriptor, LOCK_EX | LOCK_NB) == 0 { return true }
        flock(lock.descriptor, LOCK_SH)
        return false
    }

    /// Takes the files, alone or with others of the same kind; in that case the lock that is held while they are opened. A damaged
    /// database is salvaged by who is alone with it.
    private static func lock(
        _ lock: FileHandle, _ database: DatabaseFiles, _ sharing: StoreSharing
    ) throws -> FileHandle? {
        guard sharing == .mirror else {
            guard flock(lock.descriptor, LOCK_EX | LOCK_NB) == 0 else { throw StoreOpenError.inUse }
            return nil
        }
        let opening = try FileHandle(path: database.opening, flags: O_RDWR | O_CREAT)
        guard flock(opening.descriptor, LOCK_EX) == 0 else { throw FileError("flock") }
        let isAlone = flock(lock.descriptor, LOCK_EX | LOCK_NB) == 0
        guard flock(lock.descriptor, LOCK_SH | LOCK_NB) == 0 else { throw StoreOpenError.inUse }
        guard isAlone || !database.isMarked else {
            throw StoreOpenError.failed(reason: "it is damaged, and another process has it open")
        }
        return opening
    }

    /// Reads what is there; on a full disk with the room that was kept for it.
    private static func start(_ shared: StoreShared) throws -> StoreStart {
        defer { shared.reserve.refill() }
        do {
            return try StoreStart.open(shared.files, shared.mode, log: shared.log)
        } catch let error as SQLiteError where error.storeError == .full && shared.reserve.release() {
            shared.log.write(.warning, "the disk is full; started with the room kept for that", [])
            return try StoreStart.open(shared.files, shared.mode, log: shared.log)
        }
    }

    /// Bytes of the write-ahead log that stay on disk: what it has by itself when it is written back.
    static let logLimit: Int64 = 4 << 20

    /// A connection with this store's settings.
    static func connect(_ path: String) throws(SQLiteError) -> Connection {
        let connection = try Connection(path: path)
        try connection.execute("PRAGMA journal_mode = WAL")
        try connection.execute("PRAGMA synchronous = FULL")
        // Once it is written back, the log that a burst made long gives its room back.
        try connection.execute("PRAGMA journal_size_limit = \(logLimit)")
        return connection
    }

    // MARK: Writing

    package func commit(_ changes: [StoreChange], durable: Bool) async throws(StoreError) {
        try await behind.commit(changes, durable: durable)
    }

    func write(_ work: WriteJob.Work, durable: Bool, updatesView: Bool = true) async throws(StoreError) {
        try await Self.write(work, durable: durable, updatesView: updatesView, to: shared)
    }

    private static func write(
        _ work: WriteJob.Work, durable: Bool, updatesView: Bool = true, to shared: StoreShared
    ) async throws(StoreError) {
        let outcome: Result<Void, StoreError> = await withCheckedContinuation { continuation in
            let job = WriteJob(work: work, isDurable: durable, updatesView: updatesView) {
                continuation.resume(returning: $0)
            }
            if !shared.jobs.add(job) { continuation.resume(returning: .failure(.closed)) }
        }
        try outcome.get()
    }

    package func save() async throws(StoreError) {
        await behind.flush()
        try await write(.other { _ in }, durable: true)
    }

    package func close() async {
        upkeep.withLock { $0 }?.cancel()
        await behind.flush()
        // The writer is the last: a reader that closes after it can't write the log back, and would leave it beside the database.
        shared.reads.close()
        for reader in readers { await reader.join() }
        shared.jobs.close()
        await writer.join()
        await files.close()
        flock(lock.descriptor, LOCK_UN)
    }

    deinit {
        upkeep.withLock { $0 }?.cancel()
        shared.jobs.close()
        shared.reads.close()
    }

    /// Transactions committed since the start.
    package var transactionCount: Int { shared.memory.state.withLock { $0.transactions } }

    // MARK: Upkeep

    /// Removes orphaned bodies; every ten minutes what is older than the retention goes, and changed policies are looked at.
    private static func keepUp(_ shared: StoreShared) async {
        await fillKnown(shared)
        removeOrphans(shared)
        while !Task.isCancelled {
            removeOld(shared)
            reviseEvictable(shared, after: nil)
            await shared.clock.sleep(until: shared.clock.now + 600)
            // Where others place files, what no row refers to is left there at first.
            if shared.options.sharing == .mirror { removeOrphans(shared) }
        }
    }

    // The writer takes all jobs that wait into one transaction. So each page of what follows is a job that hands in the next one when it
    // is done: writes wait for one at most.

    private static func removeOld(_ shared: StoreShared) {
        enqueue(shared) { transaction in if try transaction.removeOld() { removeOld(shared) } }
    }

    /// Removes bodies that no row refers to.
    private static func removeOrphans(_ shared: StoreShared) {
        enqueue(shared) { _ in removeOrphans(shared, among: shared.bodies.digests()[...]) }
    }

    private static func removeOrphans(_ shared: StoreShared, among digests: ArraySlice<Digest>) {
        if digests.isEmpty { return }
        enqueue(shared) { transaction in
            for digest in digests.prefix(1_000) { try transaction.dropUnlessReferred(digest) }
            removeOrphans(shared, among: digests.dropFirst(1_000))
        }
    }

    private static func reviseEvictable(_ shared: StoreShared, after key: EntryKey?) {
        enqueue(shared) { transaction in
            if let last = try transaction.reviseEvictable(after: key) { reviseEvictable(shared, after: last) }
        }
    }

    private static func enqueue(
        _ shared: StoreShared, _ body: @escaping @Sendable (inout StoreTransaction) throws -> Void
    ) {
        _ = shared.jobs.add(WriteJob(work: .other(body), isDurable: false) { _ in })
    }
}
