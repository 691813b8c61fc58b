import CacheCore

/// What a transaction changed beside the database: shown once it is committed.
struct CommitEffects {
    var touched: Set<EntryKey> = []
    /// nil: no longer unfinished.
    var operations: [OperationID: StoredOperation?] = [:]
    /// nil: no longer open.
    var conflicts: [String: Conflict?] = [:]
    /// Bodies that gained a row that refers to them.
    var referred: Set<Digest> = []
    /// Bodies that no row refers to any more.
    var unreferred: Set<Digest> = []
    /// Uploads that were removed: their files go.
    var droppedUploads: Set<String> = []
    /// Rows of the job that both sides of a mirrored store have; not those of earlier jobs.
    var changed: Set<RecordName> = []
    var totals: Totals

    init(totals: Totals) { self.totals = totals }

    var isEmpty: Bool {
        touched.isEmpty && operations.isEmpty && conflicts.isEmpty && referred.isEmpty && unreferred.isEmpty
            && droppedUploads.isEmpty
    }

    /// Adds those of a later job.
    mutating func merge(_ later: CommitEffects) {
        touched.formUnion(later.touched)
        operations.merge(later.operations) { $1 }
        conflicts.merge(later.conflicts) { $1 }
        referred.formUnion(later.referred)
        unreferred.subtract(later.referred)
        unreferred.formUnion(later.unreferred)
        droppedUploads.formUnion(later.droppedUploads)
        totals = later.totals
    }
}
