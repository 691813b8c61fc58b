/// A `Content-Range` in bytes (RFC 9110 14.4).
package struct ContentRange: Sendable, Hashable, CustomStringConvertible {
    /// What is sent; nil in a 416.
    package let range: Range<Int64>?
    /// Length of the whole; nil where it is not known (`*`).
    package let length: Int64?

    /// A part that is sent. The range must not be empty.
    package init(_ range: Range<Int64>, length: Int64?) {
        self.range = range
        self.length = length
    }

    /// `bytes */LENGTH`, for 416.
    package init(unsatisfiedLength length: Int64) {
        range = nil
        self.length = length
    }

    /// No body is so long, and positions up to here can be added to.
    private static let limit: Int64 = 1 << 62

    /// Reads a field value; nil where it is malformed, of another unit, beyond 2^62 bytes, or contradicts itself.
    package init?(_ value: String) {
        let parts = value.trimmingFieldSpace.utf8.split(separator: UInt8(ascii: " "))
        guard parts.count == 2, Substring(parts[0]).equalsIgnoringASCIICase("bytes") else { return nil }
        let sides = parts[1].split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        guard sides.count == 2 else { return nil }
        let length = BytePosition.parse(Substring(sides[1]))
        guard length.map({ $0 <= Self.limit }) ?? (Substring(sides[1]) == "*") else { return nil }
        if Substring(sides[0]) == "*" {
            guard let length else { return nil }
            self.init(unsatisfiedLength: length)
            return
        }
        let ends = sides[0].split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        guard ends.count == 2, let first = BytePosition.parse(Substring(ends[0])),
            let last = BytePosition.parse(Substring(ends[1])), first <= last, last < length ?? Self.limit
        else { return nil }
        self.init(first..<last + 1, length: length)
    }

    /// The field value.
    package var text: String {
        let total = length.map { String($0) } ?? "*"
        return range.map { "bytes \($0.lowerBound)-\($0.upperBound - 1)/\(total)" } ?? "bytes */\(total)"
    }

    package var description: String { text }
}
