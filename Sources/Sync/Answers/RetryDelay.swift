/// When a write that was not applied is tried again (design 5, "Retry").
///
/// | attempts made | middle of the delay in seconds |
/// |---|---|
/// | 1 | 0.75 |
/// | 2 | 1.5 |
/// | 5 | 12 |
/// | 8 and more | 60 at most |
package enum RetryDelay {
    /// Seconds.
    package static let shortest = 0.5
    package static let longest = 60.0

    /// Exponential with jitter. `attempts` counts those made, from 1; `random` lies in 0 ..< 1.
    package static func backoff(attempts: Int, random: Double) -> Double {
        // Capped before the power is taken, so that it can't overflow.
        let step = Double(1 << min(max(attempts, 1) - 1, 7))
        return min(longest, shortest * step * (1 + random))
    }
}
