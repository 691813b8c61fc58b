import CacheCore
import HTTPModel

/// Builds a record: fields one after the other, lengths and integers as variable-length numbers.
struct RecordWriter {
    private(set) var bytes: [UInt8] = []

    /// What the first byte of each record says, so that layouts can be told apart. A new one also needs a schema version, for programs
    /// that don't know it to leave the database alone.
    static let version: UInt8 = 3

    /// `capacity`: how many bytes it is going to have, about.
    init(capacity: Int = 64) {
        bytes.reserveCapacity(capacity)
        bytes.append(Self.version)
    }

    mutating func write(_ value: UInt64) {
        var rest = value
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(rest))
    }

    mutating func write(_ value: Int64) { write(UInt64(bitPattern: value << 1 ^ value >> 63)) }
    mutating func write(_ value: Int) { write(Int64(value)) }
    mutating func write(_ value: Bool) { bytes.append(value ? 1 : 0) }

    mutating func write(_ value: Double) {
        for shift in stride(from: UInt64(0), to: 64, by: 8) {
            bytes.append(UInt8(truncatingIfNeeded: value.bitPattern >> shift))
        }
    }

    mutating func write(_ value: [UInt8]) {
        write(UInt64(value.count))
        bytes += value
    }

    mutating func write(_ value: String) {
        write(UInt64(value.utf8.count))
        bytes += value.utf8
    }

    mutating func write(_ value: some RawRepresentable<String>) { write(value.rawValue) }

    mutating func write<Value>(_ value: Value?, _ body: (inout RecordWriter, Value) -> Void) {
        write(value != nil)
        if let value { body(&self, value) }
    }

    mutating func write<Item>(_ items: [Item], _ body: (inout RecordWriter, Item) -> Void) {
        write(UInt64(items.count))
        for item in items { body(&self, item) }
    }

    mutating func write(_ value: String?) { write(value) { $0.write($1) } }
    mutating func write(_ value: Double?) { write(value) { $0.write($1) } }
    mutating func write(_ value: Int64?) { write(value) { $0.write($1) } }
    mutating func write(_ value: Bool?) { write(value) { $0.write($1) } }
    mutating func write<Value: RawRepresentable<String>>(_ value: Value?) { write(value) { $0.write($1) } }
}
