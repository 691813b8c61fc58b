/// The ranges that a `Range` field asks for, in bytes (RFC 9110 14.1.2, 14.2).
package struct ByteRangeSet: Sendable, Hashable {
    /// One range asked for.
    package enum Spec: Sendable, Hashable {
        /// From the first byte named to the last one, or to the end.
        case from(Int64, through: Int64?)
        /// So many bytes at the end.
        case suffix(Int64)
    }

    /// What the ranges come to for content of a certain length.
    package enum Resolution: Sendable, Hashable {
        /// In the order asked for; never empty, nor any of them. Those beyond the end are left out.
        case satisfiable([Range<Int64>])
        /// To be answered by 416 and `ContentRange(unsatisfiedLength:)`.
        case unsatisfiable
    }

    /// In the order of the field; at least one.
    package let specs: [Spec]

    /// More ranges than this are taken for an attack: the field is ignored (RFC 9110 14.2, 17.15).
    package static let limit = 100

    package init(_ specs: [Spec]) { self.specs = specs }

    /// Reads a field value. nil where it is malformed, of another unit, or has more than `limit` ranges: the field is to be
    /// ignored then.
    package init?(_ value: String) {
        guard let equals = value.utf8.firstIndex(of: UInt8(ascii: "=")),
            value[..<equals].trimmingFieldSpace.equalsIgnoringASCIICase("bytes")
        else { return nil }
        var specs: [Spec] = []
        for element in value[value.utf8.index(after: equals)...].utf8.split(separator: UInt8(ascii: ",")) {
            let text = Substring(element).trimmingFieldSpace
            if text.isEmpty { continue }
            guard specs.count < Self.limit, let spec = Self.spec(text) else { return nil }
            specs.append(spec)
        }
        guard !specs.isEmpty else { return nil }
        self.specs = specs
    }

    private static func spec(_ text: Substring) -> Spec? {
        guard let dash = text.utf8.firstIndex(of: UInt8(ascii: "-")) else { return nil }
        let last = text[text.utf8.index(after: dash)...]
        if dash == text.startIndex { return BytePosition.parse(last).map { .suffix($0) } }
        guard let first = BytePosition.parse(text[..<dash]) else { return nil }
        if last.isEmpty { return .from(first, through: nil) }
        guard let end = BytePosition.parse(last), end >= first else { return nil }
        return .from(first, through: end)
    }

    /// The ranges within content of `length` bytes.
    package func resolve(length: Int64) -> Resolution {
        let ranges = specs.compactMap { spec -> Range<Int64>? in
            switch spec {
            case .from(let first, let last):
                guard first < length else { return nil }
                return first..<(min(last ?? length - 1, length - 1) + 1)
            case .suffix(let count):
                guard count > 0, length > 0 else { return nil }
                return max(0, length - count)..<length
            }
        }
        return ranges.isEmpty ? .unsatisfiable : .satisfiable(ranges)
    }

    /// Ranges that overlap or touch made one, in rising order (RFC 9110 15.3.7.2).
    package static func coalesce(_ ranges: [Range<Int64>]) -> [Range<Int64>] {
        var merged: [Range<Int64>] = []
        for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) where !range.isEmpty {
            if let last = merged.last, range.lowerBound <= last.upperBound {
                merged[merged.count - 1] = last.lowerBound..<max(last.upperBound, range.upperBound)
            } else {
                merged.append(range)
            }
        }
        return merged
    }
}

/// Numbers of bytes as fields write them.
enum BytePosition {
    /// Digits only; what is too large for Int64 is its largest value.
    static func parse(_ text: Substring) -> Int64? {
        guard !text.isEmpty, text.utf8.allSatisfy(\.isDigit) else { return nil }
        return Int64(text) ?? .max
    }
}
