import CacheCore
import HTTPModel

/// A record that can't be what was written.
struct RecordError: Error {}

/// Reads a record made by `RecordWriter`. Never traps on damaged bytes.
struct RecordReader {
    private let bytes: [UInt8]
    private var position = 0
    /// The version of the layout, from 1.
    private(set) var layout: UInt8 = 0

    init(_ bytes: [UInt8]) throws(RecordError) {
        self.bytes = bytes
        layout = try byte()
        guard (1...RecordWriter.version).contains(layout) else { throw RecordError() }
    }

    var isAtEnd: Bool { position == bytes.count }

    private mutating func byte() throws(RecordError) -> UInt8 {
        guard position < bytes.count else { throw RecordError() }
        defer { position += 1 }
        return bytes[position]
    }

    mutating func unsigned() throws(RecordError) -> UInt64 {
        var value: UInt64 = 0
        for shift in stride(from: UInt64(0), to: 64, by: 7) {
            let part = try byte()
            value |= UInt64(part & 0x7F) << shift
            if part < 0x80 { return value }
        }
        throw RecordError()
    }

    mutating func integer64() throws(RecordError) -> Int64 {
        let value = try unsigned()
        return Int64(bitPattern: value >> 1) ^ -Int64(bitPattern: value & 1)
    }

    mutating func integer() throws(RecordError) -> Int { Int(try integer64()) }
    mutating func flag() throws(RecordError) -> Bool { try byte() != 0 }

    mutating func real() throws(RecordError) -> Double {
        var pattern: UInt64 = 0
        for shift in stride(from: UInt64(0), to: 64, by: 8) { pattern |= UInt64(try byte()) << shift }
        return Double(bitPattern: pattern)
    }

    mutating func blob() throws(RecordError) -> [UInt8] {
        let count = try unsigned()
        guard count <= UInt64(bytes.count - position) else { throw RecordError() }
        defer { position += Int(count) }
        return Array(bytes[position..<position + Int(count)])
    }

    mutating func text() throws(RecordError) -> String { String(decoding: try blob(), as: UTF8.self) }

    mutating func constant<Value: RawRepresentable<String>>(
        _: Value.Type = Value.self
    ) throws(RecordError) -> Value {
        guard let value = Value(rawValue: try text()) else { throw RecordError() }
        return value
    }

    mutating func optional<Value>(
        _ body: (inout RecordReader) throws(RecordError) -> Value
    ) throws(RecordError) -> Value? {
        try flag() ? try body(&self) : nil
    }

    mutating func list<Item>(
        _ body: (inout RecordReader) throws(RecordError) -> Item
    ) throws(RecordError) -> [Item] {
        let count = try unsigned()
        guard count <= UInt64(bytes.count) else { throw RecordError() }
        var items: [Item] = []
        for _ in 0..<count { items.append(try body(&self)) }
        return items
    }
}
