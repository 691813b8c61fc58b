import CacheCore
import Synchronization

/// The changes of one job inside an open transaction. Lives on the writer's thread for the length of the job.
struct StoreTransaction {
    let connection: Connection
    let memory: StoreMemory
    let bodies: BodyFolder
    let options: StoreOptions
    let policies: PolicyTable
    let view: (any HitView)?
    let now: Double
    /// Of the jobs before it in the same transaction.
    private(set) var earlier: CommitEffects
    private(set) var effects: CommitEffects
    let mode: CacheMode
    /// Paths under which all is expired, as keys without a query. Members of one list are delivered together, and each expires it.
    private var expired: Set<EntryKey> = []

    init(
        connection: Connection, memory: StoreMemory, bodies: BodyFolder, options: StoreOptions,
        view: (any HitView)?, now: Double, earlier: CommitEffects, mode: CacheMode
    ) {
        self.connection = connection
        self.memory = memory
        self.bodies = bodies
        self.options = options
        policies = options.policies()
        self.view = view
        self.now = now
        self.earlier = earlier
        self.mode = mode
        effects = CommitEffects(totals: earlier.totals)
    }

    /// Ends the job: the effects of those before it, and its own where it succeeded.
    mutating func takeEffects(ofJobToo isDone: Bool) -> CommitEffects {
        var all = CommitEffects(totals: earlier.totals)
        swap(&all, &earlier)
        guard isDone else { return all }
        if all.isEmpty {
            // The first of the transaction, or all of it.
            swap(&all, &effects)
            all.changed = []
        } else {
            all.merge(effects)
        }
        return all
    }

    /// Applies all changes, makes room, and throws `StoreError.full` where there is none.
    mutating func apply(_ changes: [StoreChange]) throws {
        let before = effects.totals
        let bearing = bearing(of: changes)
        for change in changes { try apply(change) }
        try evictAged(changes)
        do {
            try fit(since: before, bringsOperation: bearing == .acceptance)
        } catch StoreError.full where bearing == .outcome {
            // What became of an accepted write is recorded even in a full store, or the queue could never drain.
        }
    }

    /// What changes mean for the queue.
    private enum Bearing {
        /// They bring a new operation.
        case acceptance
        /// They bring none, and either say what becomes of one on its way to the origin or out of the queue, or make the bodies of none
        /// larger.
        case outcome
        case other
    }

    private func bearing(of changes: [StoreChange]) -> Bearing {
        var isDelivery = false
        var grows = false
        var isEmpty = true
        for case .putOperation(let operation) in changes {
            guard let old = unfinished(operation.id) else { return .acceptance }
            isEmpty = false
            if operation.state.isFinal || operation.state == .sending || old.state == .sending { isDelivery = true }
            if operation.bodyBytes > old.bodyBytes { grows = true }
        }
        return !isEmpty && (isDelivery || !grows) ? .outcome : .other
    }

    private mutating func apply(_ change: StoreChange) throws {
        switch change {
        // Nothing is kept without a cache, and what was saved before is no longer the newest.
        case .putCopy(let key, _) where mode == .no, .putParts(let key, _) where mode == .no: try expire(key)
        case .putListed where mode == .no: break
        case .putCopy(let key, let copy): try changeEntry(key) { $0.keep(copy) }
        case .putListed(let key, let copy): try changeCopies(of: key, orNew: true) { $0.take(listed: copy) }
        case .dropMembers(let partition, let path, let kept, let gone):
            for key in try members(of: partition, path: path) where !kept.contains(key.target) {
                try changeCopies(of: key) { $0.drop(gone: gone) }
            }
        case .putParts(let key, let parts): try changeEntry(key) { $0.keep(parts) }
        case .removeParts(let key, let selecting):
            guard let stored = try storedEntry(key) else { return }
            var entry = stored.entry
            entry.parts.removeAll { $0.head.selecting == selecting }
            try setEntry(entry, for: key, in: stored)
        case .expire(let key): try expire(key)
        case .expirePath(let partition, let path):
            let all = EntryKey(partition: partition, target: Target(unchecked: path))
            if expired.contains(all) { return }
            for key in try keys(of: partition, path: path) { try expire(key) }
            expired.insert(all)
        case .removeEntry(let key): try setEntry(nil, for: key, in: try storedEntry(key))
        case .evict: break
        case .setPolicy(let key, let policy): try changeEntry(key) { $0.policy = policy }
        case .setPin(let key, let pin, let source): try changeEntry(key) { $0.pins[source] = pin }
        case .putOperation(let operation): try put(operation)
        case .putConflict(let conflict): try put(conflict)
        case .putKeyRecord(let record): try put(record)
        case .removeKeyRecord(let partition, let key): try removeKeyRecord(partition, key)
        case .putAlias(let alias): try put(alias)
        case .movePartition(let from, let to): if from != to { try move(from, to) }
        }
    }

    // MARK: Bodies and sizes

    /// Moves references from the old bodies to the new ones. `held`: the row is not an entry, so that the bytes count as those of
    /// operations; each body counts once, however many rows refer to it. Throws where a body that nothing referred to is not there.
    mutating func refer(to new: [Content], insteadOf old: [Content], held: Bool) throws {
        if new.isEmpty, old.isEmpty { return }
        var changes: [Digest: (count: Int64, length: Int64)] = [:]
        for content in new where content.inline == nil {
            changes[content.digest, default: (0, content.length)].count += 1
        }
        for content in old where content.inline == nil {
            changes[content.digest, default: (0, content.length)].count -= 1
        }
        for (digest, change) in changes where change.count != 0 {
            try refer(to: digest, change.count, heldBy: held ? change.count : 0, length: change.length)
        }
    }

    private mutating func refer(to digest: Digest, _ change: Int64, heldBy: Int64, length: Int64) throws {
        let statement = try connection.statement(
            """
            INSERT INTO bodies VALUES(?1, ?2, ?3, ?4)
            ON CONFLICT(digest) DO UPDATE SET refs = refs + ?2, held = held + ?3 RETURNING refs, held
            """)
        try statement.bind([.blob(digest.bytes), .integer(change), .integer(heldBy), .integer(length)])
        let isRow = try statement.step()
        let (references, holders) = isRow ? (statement.integer(0), statement.integer(1)) : (0, 0)
        while try statement.step() {}
        statement.reset()
        effects.totals.count(-length, references: references - change, held: holders - heldBy)
        effects.totals.count(length, references: references, held: holders)
        if references <= 0 {
            try connection.run("DELETE FROM bodies WHERE digest = ?", .blob(digest.bytes))
            effects.unreferred.insert(digest)
            effects.referred.remove(digest)
            return
        }
        // A row that is replaced keeps what it referred to, damaged as it may be.
        let isNew = references == change && !effects.unreferred.contains(digest)
        if isNew, !earlier.unreferred.contains(digest), !bodies.has(digest) {
            throw StoreError.corrupt(reason: "a body that is to be kept is not there")
        }
        effects.unreferred.remove(digest)
        effects.referred.insert(digest)
    }

    /// Has the file of a body removed, after the commit, where no row refers to it and nobody holds it.
    mutating func dropUnlessReferred(_ digest: Digest) throws(SQLiteError) {
        let statement = try connection.statement("SELECT 1 FROM bodies WHERE digest = ?")
        try statement.bind([.blob(digest.bytes)])
        if try !statement.step() { effects.unreferred.insert(digest) }
        statement.reset()
    }

    mutating func dropUpload(_ id: String) { effects.droppedUploads.insert(id) }

    /// All rows of entries go, `bytes` altogether; what they refer to stays.
    mutating func forgetEntries(_ bytes: Int64) {
        effects.totals.copies -= bytes
        effects.totals.entries = 0
    }
    mutating func addCopyBytes(_ bytes: Int64) { effects.totals.copies += bytes }
    mutating func forgetTouched() { effects.touched = [] }
    mutating func leaveInView(_ keys: [EntryKey]) { effects.touched.subtract(keys) }
    mutating func addOperationBytes(_ bytes: Int64) { effects.totals.operations += bytes }
    /// A row has changed that the other side of a mirrored store is to have too.
    mutating func note(_ name: RecordName) {
        if options.sharing != .alone { effects.changed.insert(name) }
    }

    mutating func touch(_ keys: some Sequence<EntryKey>) { effects.touched.formUnion(keys) }
    mutating func raiseSequence(to sequence: Int64) {
        effects.totals.lastSequence = max(effects.totals.lastSequence, sequence)
    }

    // MARK: Unfinished operations and open conflicts, this transaction's included

    func unfinished(_ id: OperationID) -> Operation? { stored(id)?.operation }

    func stored(_ id: OperationID) -> StoredOperation? {
        if let changed = effects.operations[id] ?? earlier.operations[id] { return changed }
        return memory.state.withLock { $0.operations[id] }
    }

    var allUnfinished: [Operation] {
        var all = memory.state.withLock { $0.operations }
        for (id, operation) in earlier.operations { all[id] = operation }
        for (id, operation) in effects.operations { all[id] = operation }
        return all.values.map(\.operation)
    }

    mutating func show(_ stored: StoredOperation?, for id: OperationID) { effects.operations[id] = .some(stored) }
    mutating func show(_ conflict: Conflict?, for id: String) { effects.conflicts[id] = .some(conflict) }

    // MARK: Entries

    func storedEntry(_ key: EntryKey) throws -> (entry: Entry, size: Int64)? {
        // What other processes bring is in no filter of this one.
        guard options.sharing == .mirror || memory.known.mayHold(key) else { return nil }
        let statement = try connection.statement("SELECT record, size FROM entries WHERE partition = ? AND target = ?")
        try statement.bind([.text(key.partition.text), .text(key.target.text)])
        defer { statement.reset() }
        guard try statement.step() else { return nil }
        return (try Entry(key: key, record: statement.blob(0)), statement.integer(1))
    }

    mutating func changeEntry(_ key: EntryKey, _ change: (inout Entry) -> Void) throws {
        let stored = try storedEntry(key)
        var entry = stored?.entry ?? Entry(key: key)
        change(&entry)
        try setEntry(entry, for: key, in: stored)
    }

    /// Writes the entry, or removes it, where `stored` is what the row holds.
    mutating func setEntry(_ entry: Entry?, for key: EntryKey, in stored: (entry: Entry, size: Int64)?) throws {
        try replace(stored, by: entry, for: key, isKept: try keepSaved(key, stored))
    }

    /// The same; `isKept`: what the row refers to is kept for the next start.
    mutating func replace(
        _ stored: (entry: Entry, size: Int64)?, by entry: Entry?, for key: EntryKey, isKept: Bool
    ) throws {
        touch([key])
        note(RecordName(key))
        if !expired.isEmpty {
            expired.remove(EntryKey(partition: key.partition, target: Target(unchecked: String(key.target.path))))
        }
        try refer(to: entry?.contents ?? [], insteadOf: isKept ? [] : stored?.entry.contents ?? [], held: false)
        effects.totals.copies -= stored?.size ?? 0
        guard let entry else {
            try connection.run(
                "DELETE FROM entries WHERE partition = ? AND target = ?", .text(key.partition.text),
                .text(key.target.text))
            if stored != nil { effects.totals.entries -= 1 }
            return
        }
        let record = entry.record
        let size = Int64(record.count)
        try connection.run(
            """
            INSERT INTO entries VALUES(?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT(partition, target)
            DO UPDATE SET size = ?3, used_at = ?4, evictable = ?5, record = ?6
            """, .text(key.partition.text), .text(key.target.text), .integer(size), .real(now),
            .integer(entry.isEvictable(under: policies) ? 1 : 0), .blob(record))
        effects.totals.copies += size
        if stored == nil {
            memory.known.add(key)
            effects.totals.entries += 1
        }
    }

    /// Changes an entry's copies where `change` says that it did; makes an entry only where `orNew`.
    private mutating func changeCopies(
        of key: EntryKey, orNew: Bool = false, _ change: (inout Entry) -> Bool
    ) throws {
        let stored = try storedEntry(key)
        guard var entry = stored?.entry ?? (orNew ? Entry(key: key) : nil), change(&entry) else { return }
        try setEntry(entry, for: key, in: stored)
    }

    private mutating func expire(_ key: EntryKey) throws {
        touch([key])
        guard let stored = try storedEntry(key) else { return }
        var entry = stored.entry
        entry.expire()
        if entry != stored.entry { try setEntry(entry, for: key, in: stored) }
    }

    /// Entries of the collection's members: those in the range of names from `PATH/` to the one before `PATH0`.
    private func members(of partition: PartitionID, path: String) throws -> [EntryKey] {
        let prefix = path.utf8.last == UInt8(ascii: "/") ? String(path.dropLast()) : path
        let statement = try connection.statement(
            "SELECT target FROM entries WHERE partition = ?1 AND target >= ?2 AND target < ?3")
        try statement.bind([.text(partition.text), .text(prefix + "/"), .text(prefix + "0")])
        defer { statement.reset() }
        var keys: [EntryKey] = []
        while try statement.step() {
            let target = Target(unchecked: statement.text(0))
            if target.isMember(ofPath: path) { keys.append(EntryKey(partition: partition, target: target)) }
        }
        return keys
    }

    /// Entries with that path: the path alone, and the range of names from `PATH?` to the one before `PATH@`.
    private func keys(of partition: PartitionID, path: String) throws -> [EntryKey] {
        let statement = try connection.statement(
            """
            SELECT target FROM entries WHERE partition = ?1 AND target = ?2
            UNION ALL SELECT target FROM entries WHERE partition = ?1 AND target >= ?3 AND target < ?4
            """)
        try statement.bind([.text(partition.text), .text(path), .text(path + "?"), .text(path + "@")])
        defer { statement.reset() }
        var keys: [EntryKey] = []
        while try statement.step() {
            keys.append(EntryKey(partition: partition, target: Target(unchecked: statement.text(0))))
        }
        return keys
    }
}
