import CacheCore

/// What a `Deliverer` is about, under its lock.
struct DeliveryState: Sendable {
    /// Operations that are claimed in one commit, and outcomes that are recorded at once, at most.
    static let batchLimit = 256
    /// Seconds in which what is claimed is to be on its way.
    private static let claimedAhead = 0.25

    var isStarted = false
    var isSuspended = false
    var isStopped = false
    /// Whether a task is sending what is claimed; `isWanted`: whether it is to look once more before it ends.
    var isPumping = false
    /// Whether a claim is on its way to the disk, and whether more may have become due meanwhile.
    var isClaiming = false
    var mayHaveMissed = false
    var isWanted = false
    /// Claimed and not yet on their way, in order. No slice: its emptied front would keep bodies of what is long delivered.
    var waiting: [Claim] = []
    /// How many were claimed together last.
    var batch = 0
    /// On their way to the origin.
    var sending = 0
    /// Outcomes that wait to be recorded, and whether a task does it.
    var outcomes: [(id: OperationID, outcome: DeliveryOutcome)] = []
    var isRecording = false
    /// Those whose outcome is not on disk yet.
    var recording = 0
    /// When was claimed last, and how many attempts have ended since.
    var claimedAt = 0.0
    var ended = 0
    var timer: (due: Double, task: Task<Void, Never>)?
    var waiters: [UInt64: CheckedContinuation<Void, Never>] = [:]
    var nextWaiter: UInt64 = 0

    var isIdle: Bool { waiting.isEmpty && sending == 0 && recording == 0 && !isClaiming }

    /// How many to claim: as many as can be sent at once, or as will be gone shortly at the pace so far. One commit for many is
    /// what a fast origin needs; before a slow one little is claimed ahead, for what is claimed can't be changed any more.
    func nextBatch(concurrency: Int, now: Double) -> Int {
        let elapsed = now - claimedAt
        let ahead = Double(ended) * Self.claimedAhead / max(elapsed, Self.claimedAhead / 1000)
        return min(Self.batchLimit, max(Int(ahead), concurrency - sending))
    }

    /// Whether it is time to claim anew: half of a batch is on its way, so that the rest bridges the time that the commit takes.
    var runsLow: Bool { waiting.count * 2 <= batch }

    /// True where nobody records what waits: the caller has to begin.
    mutating func takeOutcomes(_ more: [(id: OperationID, outcome: DeliveryOutcome)]) -> Bool {
        guard !more.isEmpty else { return false }
        outcomes += more
        recording += more.count
        defer { isRecording = true }
        return !isRecording
    }
}
