import HTTPModel

/// Sizes as people write them: `64MiB`, `1.5GB`, `4096`.
package enum ByteCount {
    private static let units: [(name: String, factor: Int64)] = [
        ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("TiB", 1 << 40), ("KB", 1000), ("MB", 1_000_000),
        ("GB", 1_000_000_000), ("TB", 1_000_000_000_000), ("B", 1), ("", 1),
    ]

    /// In bytes; nil where the text is no size.
    package static func parse(_ text: String) -> Int64? {
        for (unit, factor) in units where text.hasSuffix(unit) {
            let digits = text.dropLast(unit.count).trimmingFieldSpace
            if let value = Double(digits), value >= 0, value * Double(factor) < 9e18 {
                return Int64(value * Double(factor))
            }
        }
        return nil
    }
}
