import CacheCore
import Synchronization

/// What waits for the writer.
struct WriteJob: Sendable {
    enum Work: Sendable {
        case changes([StoreChange])
        /// Anything else that runs in a transaction.
        case other(@Sendable (inout StoreTransaction) throws -> Void)
        /// The same, for what needs no more room than it frees.
        case freeing(@Sendable (inout StoreTransaction) throws -> Void)
        /// The changes, as the function applies them.
        case tracked([StoreChange], @Sendable (inout StoreTransaction) throws -> Void)
        /// Only takes note of what other processes have committed.
        case look

        var changes: [StoreChange] {
            switch self {
            case .changes(let changes), .tracked(let changes, _): changes
            case .other, .freeing, .look: []
            }
        }
    }
    var work: Work
    var isDurable: Bool
    /// Whether the view forgets the entries that it changes. Those that make room for them are always forgotten.
    var updatesView = true
    var answer: @Sendable (Result<Void, StoreError>) -> Void

    /// Whether it may share its part of the transaction with others of the kind.
    var isPlain: Bool { if case .changes = work { updatesView } else { false } }
}

/// The one writer of a store: takes all jobs that wait into one transaction. Lives on its own thread.
///
/// One that fails takes none with it: jobs that change no more than rows are done as one, and where that fails each is done again, as
/// any other is from the start, in a savepoint of its own. A transaction without durable jobs is committed without
/// fsync; the next durable one carries it to disk.
final class StoreWriter {
    private let path: String
    private let shared: StoreShared
    /// nil at first and after a failed commit, until it could be opened and written.
    private var connection: Connection?
    private var hasFailed = false
    private var isFull = true

    /// The file that was opened at first. SQLite would go on writing to it after it was removed, and lose all with the last
    /// connection.
    private let identity: UInt64?

    init(path: String, shared: StoreShared) {
        self.path = path
        self.shared = shared
        identity = shared.files.identity
    }

    /// Works until the queue is closed.
    func run() {
        while let jobs = shared.jobs.takeAll() { work(jobs) }
        connection = nil
    }

    private func work(_ jobs: [WriteJob], together: Bool = true) {
        // A savepoint costs as much as a small change, and copies each page that the one before has touched.
        let isTogether = together && jobs.count > 1 && jobs.allSatisfy(\.isPlain)
        var answers: [(job: WriteJob, result: Result<Void, StoreError>)] = []
        do {
            let connection = try healthyConnection()
            try setSynchronous(connection, full: jobs.contains { $0.isDurable })
            try connection.run("BEGIN IMMEDIATE")
            let commits = try noteOthers(connection)
            if jobs.allSatisfy({ if case .look = $0.work { true } else { false } }) {
                try connection.run("ROLLBACK")
                for job in jobs { job.answer(.success(())) }
                return
            }
            let before = shared.memory.state.withLock { $0.totals }
            var effects = CommitEffects(totals: before)
            if isTogether {
                var transaction = transaction(in: connection, after: effects)
                for job in jobs { try transaction.apply(job.work.changes) }
                effects = transaction.takeEffects(ofJobToo: true)
                answers = jobs.map { ($0, .success(())) }
            } else {
                for job in jobs { answers.append((job, try apply(job, in: connection, &effects))) }
            }
            try write(effects.totals, in: connection)
            try connection.run("COMMIT")
            show(effects, commits: commits + 1)
        } catch {
            if let connection, connection.isInTransaction { try? connection.execute("ROLLBACK") }
            let error = storeError(error)
            // A lone job has failed by itself. Of several, one may have spoiled the transaction: each is tried alone.
            if jobs.count > 1, answers.count < jobs.count, connection != nil {
                if isTogether { return work(jobs, together: false) }
                for job in jobs { work([job]) }
                return
            }
            connection = nil
            hasFailed = true
            if error == .full, useReserve(for: jobs) { return }
            shared.memory.state.withLock { $0.isFailing = true }
            shared.log.write(.error, "the store could not commit", [("reason", "\(error)")])
            // Written over what the failed commit left in the log: no crash can bring back what is refused here.
            _ = try? healthyConnection()
            for job in jobs { job.answer(.failure(error)) }
            return
        }
        for answer in answers { answer.job.answer(answer.result) }
        shared.reserve.refill()
    }

    /// On a full disk: tries again, with the room kept for it, those jobs that free some or that record what became of accepted
    /// writes. False where none of them is such, or that room is used already.
    private func useReserve(for jobs: [WriteJob]) -> Bool {
        let freeing = jobs.filter { isFreeing($0) }
        guard !freeing.isEmpty, shared.reserve.release() else { return false }
        shared.log.write(.warning, "the disk is full; the room kept for that is used", [])
        for job in jobs where !isFreeing(job) { job.answer(.failure(.full)) }
        work(freeing)
        return true
    }

    private func isFreeing(_ job: WriteJob) -> Bool {
        switch job.work {
        case .freeing: true
        case .other, .look: false
        case .changes, .tracked: isFreeing(job.work.changes)
        }
    }

    private func isFreeing(_ changes: [StoreChange]) -> Bool {
        var isOutcome = false
        for case .putOperation(let operation) in changes {
            guard shared.memory.state.withLock({ $0.operations[operation.id] != nil }) else { return false }
            isOutcome = true
        }
        return isOutcome
            || changes.allSatisfy { change in
                switch change {
                case .removeEntry, .evict: true
                default: false
                }
            }
    }

    /// The result of one job; throws where the whole transaction is lost.
    private func apply(
        _ job: WriteJob, in connection: Connection, _ effects: inout CommitEffects
    ) throws -> Result<Void, StoreError> {
        try connection.run("SAVEPOINT job")
        // Handed over and taken back: a second holder would make each job copy what all before it brought.
        let earlier = effects
        effects = CommitEffects(totals: earlier.totals)
        var transaction = transaction(in: connection, after: consume earlier)
        do {
            switch job.work {
            case .changes(let changes): try transaction.apply(changes)
            case .other(let body), .freeing(let body), .tracked(_, let body): try body(&transaction)
            case .look: break
            }
            if !job.updatesView { transaction.leaveInView(job.work.changes.compactMap(\.entryKey)) }
        } catch {
            guard connection.isInTransaction else { throw error }
            try connection.run("ROLLBACK TO job")
            try connection.run("RELEASE job")
            effects = transaction.takeEffects(ofJobToo: false)
            return .failure(storeError(error))
        }
        try connection.run("RELEASE job")
        effects = transaction.takeEffects(ofJobToo: true)
        return .success(())
    }

    private func transaction(in connection: Connection, after earlier: consuming CommitEffects) -> StoreTransaction {
        StoreTransaction(
            connection: connection, memory: shared.memory, bodies: shared.bodies, options: shared.options,
            view: shared.view, now: shared.clock.now, earlier: earlier, mode: shared.mode)
    }

    private func write(_ totals: Totals, in connection: Connection) throws(SQLiteError) {
        try connection.run(
            """
            UPDATE totals SET copies = ?, operations = ?, entries = ?, last_sequence = ?, commits = commits + 1
            """, .integer(totals.copies), .integer(totals.operations), .integer(totals.entries),
            .integer(totals.lastSequence))
    }

    /// Makes what is committed visible, before anybody is answered.
    private func show(_ effects: CommitEffects, commits: Int64) {
        shared.memory.state.withLock { state in
            for (id, operation) in effects.operations { state.set(operation, for: id) }
            for (id, conflict) in effects.conflicts { state.set(conflict, for: id) }
            state.totals = effects.totals
            state.transactions += 1
            state.commits = commits
            state.isFailing = false
        }
        for key in effects.touched { shared.view?.invalidate(key) }
        for digest in effects.unreferred { shared.bodies.removeUnlessHeld(digest) }
        for id in effects.droppedUploads { shared.uploads.remove(id) }
    }

    /// Takes over what other processes have committed, where they can. How many transactions there were.
    private func noteOthers(_ connection: Connection) throws -> Int64 {
        guard shared.options.sharing == .mirror else { return 0 }
        let commits = try connection.integer("SELECT commits FROM totals") ?? 0
        guard commits != shared.memory.state.withLock({ $0.commits }) else { return commits }
        let queue = try StoreStart.queue(connection)
        let totals = try StoreStart.totals(connection)
        shared.memory.state.withLock { state in
            for id in Array(state.operations.keys) { state.set(nil as StoredOperation?, for: id) }
            for stored in queue.operations { state.set(stored, for: stored.operation.id) }
            for id in Array(state.conflicts.keys) { state.set(nil as Conflict?, for: id) }
            for conflict in queue.conflicts { state.set(conflict, for: conflict.id) }
            state.totals = totals
            state.commits = commits
        }
        return commits
    }

    private func setSynchronous(_ connection: Connection, full: Bool) throws(SQLiteError) {
        guard full != isFull else { return }
        try connection.execute("PRAGMA synchronous = \(full ? "FULL" : "NORMAL")")
        isFull = full
    }

    /// The connection; after a failure a new one, once the database can be read and written with it.
    private func healthyConnection() throws -> Connection {
        guard shared.files.identity == identity else {
            throw StoreError.failed(reason: "the database is no longer in the data folder; put it back or restart")
        }
        if let connection { return connection }
        let fresh = try SQLiteStore.connect(path)
        isFull = true
        if hasFailed {
            try fresh.execute("BEGIN IMMEDIATE")
            try shared.files.rewriteLog()
            try fresh.execute("UPDATE totals SET commits = commits + 1")
            try fresh.execute("COMMIT")
            hasFailed = false
            shared.log.write(.info, "the store takes writes again", [])
        }
        connection = fresh
        return fresh
    }

    private func storeError(_ error: any Error) -> StoreError {
        switch error {
        case let error as StoreError: error
        case let error as SQLiteError: shared.storeError(error)
        case let error as FileError: error.storeError
        case is RecordError: shared.recordError()
        default: .failed(reason: "\(error)")
        }
    }
}
