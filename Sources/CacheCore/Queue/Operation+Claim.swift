extension Operation {
    /// Makes it one that is on its way to the origin. A store may keep that it was claimed beside what it was before: this is all that a
    /// claim changes of an operation that needs nothing else settled before it leaves.
    package mutating func claim() {
        state = .sending
        attempts += 1
        wasSent = true
        reason = nil
        nextAttemptAt = nil
    }
}
