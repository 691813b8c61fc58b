package import HTTPModel

/// When the origin wants to be asked again (RFC 9110 10.2.3).
package enum RetryAfter {
    /// The seconds that it asks for, by a delay or an HTTP date; nil where there is none that can be read. Believed up to
    /// `LaneBook.longestWait`, so that a broken clock at the origin can't park a write for ever.
    package static func seconds(in fields: HTTPFields, now: Double) -> Double? {
        guard let value = fields["Retry-After"]?.trimmingFieldSpace, !value.isEmpty else { return nil }
        let longest = LaneBook.longestWait
        if value.utf8.allSatisfy(\.isDigit) { return min(Double(value) ?? longest, longest) }
        guard let date = HTTPDate(String(value), now: now) else { return nil }
        return min(max(0, Double(date.seconds) - now), longest)
    }
}
