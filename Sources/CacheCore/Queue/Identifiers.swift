import Synchronization

/// Makes the ids of this process: 48 bits of time in milliseconds and 80 random bits as 26 digits of Crockford's base 32, so
/// that later ones sort behind earlier ones, those of one millisecond too. Safe from any thread.
package enum IDs {
    /// `now` in seconds since 1970.
    package static func operation(now: Double) -> OperationID { OperationID(next(now: now)) }

    /// Any other record (conflict, upload, action); sorts like an operation's.
    package static func record(now: Double) -> String { next(now: now) }

    /// The last segment of a temporary target: `hf-` and 26 characters, unique for ever (design 5).
    package static func temporaryMember() -> String { "hf-" + random() }

    /// The entity tag of what a new operation makes, quotes included (design 3); random bits cost a call of the system, and its id has
    /// some.
    package static func tag(of operation: OperationID) -> String { "\"hf-\(operation.text)\"" }

    /// The tag of what the operation makes after it was changed: another each time.
    package static func tag(ofChanged operation: OperationID) -> String { "\"hf-\(operation.text).\(random())\"" }

    /// The operation that has, or had, this tag, if it is such a one: no index is needed to find it.
    package static func operation(ofTag tag: String) -> OperationID? {
        let start = "\"hf-".utf8
        let rest = tag.utf8.dropFirst(start.count)
        guard tag.utf8.starts(with: start), let end = rest.dropFirst(26).first,
            end == UInt8(ascii: "\"") || end == UInt8(ascii: ".")
        else { return nil }
        return OperationID(String(Substring(rest.prefix(26))))
    }

    /// The Idempotency-Key of an operation whose write brought none: no index is needed to find it by this key.
    package static func idempotencyKey(of operation: OperationID) -> String { "hf-" + operation.text }

    /// Whether it is that one.
    package static func isIdempotencyKey(_ key: String, of operation: OperationID) -> Bool {
        let id = operation.text.utf8
        return key.utf8.count == id.count + 3 && key.utf8.starts(with: "hf-".utf8)
            && key.utf8.dropFirst(3).elementsEqual(id)
    }

    /// The operation that has this key by `idempotencyKey(of:)`, if it is such a one.
    package static func operation(ofKey key: String) -> OperationID? {
        let name = key.utf8.dropFirst(3)
        guard key.utf8.starts(with: "hf-".utf8), name.count == 26 else { return nil }
        return OperationID(String(Substring(name)))
    }

    private struct Last: Sendable {
        var milliseconds: UInt64 = 0
        var high: UInt16 = 0
        var low: UInt64 = 0
        /// Where the steps of this millisecond come from, once there is one: asking the system for each costs a call.
        var seed: UInt64?

        /// In 1 ... 2^40 (SplitMix64).
        mutating func step() -> UInt64 {
            var mixed = (seed ?? .random(in: 0...(.max))) &+ 0x9E37_79B9_7F4A_7C15
            seed = mixed
            mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
            mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
            return (mixed ^ mixed >> 31) >> 24 + 1
        }
    }

    private static let last = Mutex(Last())

    private static func next(now: Double) -> String {
        let milliseconds = UInt64(min(max(now * 1000, 0), 281_474_976_710_655))
        let id = last.withLock { last in
            // A clock that was set back does not make ids that sort before earlier ones.
            if milliseconds > last.milliseconds {
                last = Last(
                    milliseconds: milliseconds, high: .random(in: 0...(.max >> 1)), low: .random(in: 0...(.max)))
            } else {
                let (low, overflow) = last.low.addingReportingOverflow(last.step())
                last.low = low
                if overflow { last.high &+= 1 }
            }
            return last
        }
        return text(UInt128(id.milliseconds) << 80 | UInt128(id.high) << 64 | UInt128(id.low))
    }

    private static func random() -> String { text(.random(in: 0...(.max))) }

    private static func text(_ value: UInt128) -> String {
        var bytes = [UInt8](repeating: 0, count: 26)
        var rest = value
        for index in stride(from: 25, through: 0, by: -1) {
            bytes[index] = digits[Int(rest & 31)]
            rest >>= 5
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static let digits = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ".utf8)
}
