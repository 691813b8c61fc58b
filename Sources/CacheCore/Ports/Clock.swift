/// Time as a parameter. Wall time for what is compared with the origin's dates and survives restarts.
package protocol Clock: Sendable {
    /// Seconds since 1970.
    var now: Double { get }
    /// Suspends until `now` has reached `time`; returns early when the task is cancelled.
    func sleep(until time: Double) async
}
