import CacheCore
import HTTPModel

extension Entry {
    /// All but the key, which has columns of its own.
    var record: [UInt8] {
        var writer = RecordWriter()
        writer.write(policy)
        writer.write(pin)
        writer.write(lastSync)
        writer.write(copies) { writer, copy in
            writer.write(copy.status)
            writer.write(copy.fields)
            writer.write(copy.content)
            writer.write(copy.requestTime)
            writer.write(copy.responseTime)
            writer.write(copy.selecting) { $0.write($1) }
            writer.write(copy.isExpired)
            writer.write(copy.isListed)
            writer.write(copy.explicitFreshnessOnly)
            writer.write(copy.epoch)
        }
        return writer.bytes
    }

    init(key: EntryKey, record: [UInt8]) throws(RecordError) {
        var reader = try RecordReader(record)
        self.init(key: key)
        policy = try reader.layer()
        pin = try reader.optionalConstant()
        lastSync = try reader.optionalReal()
        copies = try reader.list { (reader) throws(RecordError) in
            ServerCopy(
                status: try reader.integer(), fields: try reader.fields(), content: try reader.content(),
                requestTime: try reader.real(), responseTime: try reader.real(), selecting: try reader.fieldList(),
                isExpired: try reader.flag(), isListed: try reader.flag(),
                explicitFreshnessOnly: try reader.flag(), epoch: try reader.integer64())
        }
        guard reader.isAtEnd else { throw RecordError() }
    }

    /// Every body that the entry refers to.
    var contents: [Content] { copies.map(\.content) }

    /// Takes over what another partition's entry has and this one lacks.
    mutating func adopt(_ other: Entry) {
        if copies.isEmpty {
            copies = other.copies
            lastSync = other.lastSync
        }
        if policy.isEmpty { policy = other.policy }
        pin = pin ?? other.pin
    }

    /// Whether its copies may go to make room, as far as the entry itself tells.
    var isEvictable: Bool { pin == nil && policy.evictionPolicy != .manualEviction && !copies.isEmpty }
}
