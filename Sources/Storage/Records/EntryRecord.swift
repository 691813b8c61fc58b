import CacheCore
import HTTPModel

extension Entry {
    /// All but the key, which has columns of its own.
    var record: [UInt8] {
        var writer = RecordWriter()
        writer.write(policy)
        writer.write(pins.own)
        writer.write(lastSync)
        writer.write(copies) { $0.write($1) }
        // Databases of version 1 end here, and so do entries without parts; those before version 11 behind the parts.
        if !parts.isEmpty || !pins.ancillary.isEmpty { writer.write(parts) { $0.write($1) } }
        if !pins.ancillary.isEmpty {
            writer.write(pins.ancillary.sorted { $0.key.text < $1.key.text }) { writer, pin in
                writer.write(pin.key.text)
                writer.write(pin.value)
            }
        }
        return writer.bytes
    }

    init(key: EntryKey, record: [UInt8]) throws(RecordError) {
        var reader = try RecordReader(record)
        self.init(key: key)
        policy = try reader.layer()
        pins.own = try reader.optionalConstant()
        lastSync = try reader.optionalReal()
        copies = try reader.list { (reader) throws(RecordError) in try reader.copy() }
        if !reader.isAtEnd { parts = try reader.list { (reader) throws(RecordError) in try reader.parts() } }
        if !reader.isAtEnd {
            for _ in 0..<(try reader.unsigned()) {
                let source = Target(unchecked: try reader.text())
                pins.ancillary[source] = try reader.constant(PinPriority.self)
            }
        }
        guard reader.isAtEnd else { throw RecordError() }
    }

    /// Every body that the entry refers to.
    var contents: [Content] { copies.map(\.content) + parts.flatMap { $0.pieces.map(\.content) } }

    /// Takes over what another partition's entry has and this one lacks.
    mutating func adopt(_ other: Entry) {
        if copies.isEmpty {
            copies = other.copies
            parts = other.parts
            lastSync = other.lastSync
        }
        if policy.isEmpty { policy = other.policy }
        pins = pins.joined(with: other.pins)
    }
}

extension RecordWriter {
    mutating func write(_ copy: ServerCopy) {
        write(copy.status)
        write(copy.fields)
        write(copy.content)
        write(copy.requestTime)
        write(copy.responseTime)
        write(copy.selecting) { $0.write($1) }
        write(copy.isExpired)
        write(copy.isListed)
        write(copy.explicitFreshnessOnly)
        write(copy.epoch)
    }

    mutating func write(_ parts: PartialCopy) {
        write(parts.validator)
        write(parts.head)
        write(parts.length)
        write(parts.pieces) { writer, piece in
            writer.write(piece.range.lowerBound)
            writer.write(piece.range.upperBound)
            writer.write(piece.content)
            writer.write(piece.offset)
        }
    }
}

extension RecordReader {
    mutating func copy() throws(RecordError) -> ServerCopy {
        ServerCopy(
            status: try integer(), fields: try fields(), content: try content(), requestTime: try real(),
            responseTime: try real(), selecting: try fieldList(), isExpired: try flag(), isListed: try flag(),
            explicitFreshnessOnly: try flag(), epoch: try integer64())
    }

    mutating func parts() throws(RecordError) -> PartialCopy {
        let (validator, head, length) = (try text(), try copy(), try integer64())
        let pieces = try list { (reader) throws(RecordError) in
            let (lower, upper) = (try reader.integer64(), try reader.integer64())
            let (content, offset) = (try reader.content(), try reader.integer64())
            guard 0 <= lower, lower < upper, upper <= length, 0 <= offset, offset <= content.length - (upper - lower)
            else {
                throw RecordError()
            }
            return PartialCopy.Piece(range: lower..<upper, content: content, offset: offset)
        }
        return PartialCopy(validator: validator, head: head, length: length, pieces: pieces)
    }
}
