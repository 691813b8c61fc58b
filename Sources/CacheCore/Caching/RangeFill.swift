/// What the origin is asked for so that a range can be answered (design 7).
///
/// | known | asked for |
/// |---|---|
/// | nothing, range from byte 0 without an end | the whole |
/// | nothing, another range | the range, and at least `readAhead` bytes |
/// | parts of up to `shortLength` bytes in all | everything that is missing |
/// | parts of more | what the range lacks, and at least `readAhead` bytes, up to the next part |
package struct RangeFill: Sendable, Hashable {
    package var start: Int64
    /// The byte after the last one; nil: to the end.
    package var end: Int64?

    /// A range is rarely the only one that is read: the next ones are then here already.
    package static let readAhead: Int64 = 256 << 10
    /// What is no longer than this is fetched whole rather than in parts.
    package static let shortLength: Int64 = 1 << 20

    package init(start: Int64, end: Int64?) {
        self.start = start
        self.end = end
    }

    /// Where nothing is known of the target: nil for the whole.
    package init?(first: Int64, last: Int64?) {
        if first == 0, last == nil { return nil }
        start = first
        end = last.map { max($0, first.addingClamped(Self.readAhead - 1)).addingClamped(1) }
    }

    /// Where parts are known; nil where they have the range.
    package init?(_ wanted: Range<Int64>, lackedBy parts: PartialCopy) {
        let isShort = parts.length <= Self.shortLength
        guard let gap = parts.gap(in: wanted), let all = parts.gap(in: 0..<parts.length) else { return nil }
        let ahead = min(gap.lowerBound + Self.readAhead, parts.nextHeld(after: gap.lowerBound))
        let fill = isShort ? all : gap.lowerBound..<max(gap.upperBound, ahead)
        start = fill.lowerBound
        end = fill.upperBound == parts.length ? nil : fill.upperBound
    }

    package func contains(_ range: Range<Int64>) -> Bool {
        start <= range.lowerBound && range.upperBound <= end ?? .max
    }

    /// The value of Range.
    package var text: String { "bytes=\(start)-" + (end.map { String($0 - 1) } ?? "") }
}

extension Int64 {
    /// The sum, or the largest value where it is larger. For two values that are not negative.
    fileprivate func addingClamped(_ other: Int64) -> Int64 {
        let (sum, isOver) = addingReportingOverflow(other)
        return isOver ? .max : sum
    }
}
