/// Whose an entry is: the first 128 bits of a keyed hash of the request's identity, or none (design 1, "partition").
package struct PartitionID: Sendable, Hashable {
    package let high: UInt64
    package let low: UInt64

    package init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// What belongs to nobody in particular.
    package static let none = PartitionID(high: 0, low: 0)

    /// 32 hexadecimal digits; empty for `none`. What /cache shows and the database keeps.
    package var text: String {
        self == .none ? "" : Self.hex(high) + Self.hex(low)
    }

    /// The inverse of `text`; nil for anything else.
    package init?(text: String) {
        if text.isEmpty {
            self = .none
            return
        }
        guard text.utf8.count == 32, let high = UInt64(text.prefix(16), radix: 16),
            let low = UInt64(text.suffix(16), radix: 16)
        else { return nil }
        self.init(high: high, low: low)
    }

    private static func hex(_ value: UInt64) -> String {
        let digits = String(value, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}

/// What a client asks for after `/resources` or `/files`: path and query byte for byte (design 1, "target").
/// Empty, or begins with `/` or `?`.
package struct Target: Sendable, Hashable, CustomStringConvertible {
    package let text: String

    /// Takes text that was checked before (read back from the store, made here).
    package init(unchecked text: String) { self.text = text }

    package var description: String { text }

    /// By bytes: String's own equality takes canonically equivalent texts (é in one scalar or two) for equal.
    package static func == (one: Target, other: Target) -> Bool {
        one.text == other.text && one.text.utf8.elementsEqual(other.text.utf8)
    }

    /// Without the query and its `?`.
    package var path: Substring { Substring(text.utf8.prefix { $0 != UInt8(ascii: "?") }) }

    /// What follows the first `?`; nil where there is none.
    package var query: Substring? {
        guard let mark = text.utf8.firstIndex(of: UInt8(ascii: "?")) else { return nil }
        return text[text.utf8.index(after: mark)...]
    }
}

/// Names one entry of a store.
package struct EntryKey: Sendable, Hashable {
    package let partition: PartitionID
    package let target: Target

    package init(partition: PartitionID, target: Target) {
        self.partition = partition
        self.target = target
    }
}

/// How a target was asked for; the same entry is treated differently (design 1).
package enum Route: UInt8, Sendable, Hashable {
    case resources = 0
    case files = 1

    /// `/resources` or `/files`.
    package var prefix: String { self == .resources ? "/resources" : "/files" }
}
