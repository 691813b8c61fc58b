import CacheCore
package import HTTPModel

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
    /// Retry-After is believed up to a day, so that a broken clock at the origin can't park a write for ever.
    package static let longestRetryAfter = LaneBook.longestWait

    /// Exponential with jitter. `attempts` counts those made, from 1; `random` lies in 0 ..< 1.
    package static func backoff(attempts: Int, random: Double) -> Double {
        // Capped before the power is taken, so that it can't overflow.
        let step = Double(1 << min(max(attempts, 1) - 1, 7))
        return min(longest, shortest * step * (1 + random))
    }

    /// The seconds that Retry-After asks for, delay or HTTP date (RFC 9110 10.2.3); nil where there is none that can be read.
    package static func retryAfter(_ fields: HTTPFields, now: Double) -> Double? {
        guard let value = fields["Retry-After"]?.trimmingFieldSpace, !value.isEmpty else { return nil }
        if value.utf8.allSatisfy(\.isDigit) {
            return min(Double(value) ?? longestRetryAfter, longestRetryAfter)
        }
        guard let date = HTTPDate(String(value), now: now) else { return nil }
        return min(max(0, Double(date.seconds) - now), longestRetryAfter)
    }
}
