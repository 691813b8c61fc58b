import CacheCore
import HTTPModel

// The parts that entries, operations and conflicts have in common.

extension RecordWriter {
    mutating func write(_ fields: HTTPFields) {
        write(UInt64(fields.count))
        for field in fields { write(field) }
    }

    mutating func write(_ field: HTTPField) {
        write(field.name)
        write(field.value)
    }

    mutating func write(_ content: Content) {
        write(content.digest.bytes)
        write(content.length)
        write(content.inline) { $0.write($1) }
    }

    mutating func write(_ content: Content?) { write(content) { $0.write($1) } }

    mutating func write(_ answer: KeptAnswer?) {
        write(answer) {
            $0.write($1.status)
            $0.write($1.fields)
            $0.write($1.content)
        }
    }

    mutating func write(_ base: Base) {
        write(base.etag)
        write(base.lastModified)
        write(base.mediaType)
        write(base.content)
    }

    mutating func write(_ policy: Policy) {
        write(policy.fetchPolicy)
        write(policy.offlineReads)
        write(policy.expirationPolicy)
        write(policy.expireAfter)
        write(policy.evictionPolicy)
        write(policy.updatePolicy)
        write(policy.conflictResolutionPolicy)
        write(policy.noCache)
        write(policy.respectNoStore)
        write(policy.post)
        write(policy.guardsWrites)
        write(policy.queueOnStatus) { $0.write($1) }
    }

    mutating func write(_ layer: PolicyLayer) {
        write(layer.fetchPolicy)
        write(layer.offlineReads)
        write(layer.expirationPolicy)
        write(layer.expireAfter)
        write(layer.evictionPolicy)
        write(layer.updatePolicy)
        write(layer.conflictResolutionPolicy)
        write(layer.noCache)
        write(layer.respectNoStore)
        write(layer.post)
        write(layer.guardsWrites)
        write(layer.queueOnStatus) { $0.write($1) { $0.write($1) } }
    }
}

extension RecordReader {
    mutating func fields() throws(RecordError) -> HTTPFields { HTTPFields(try fieldList()) }

    mutating func fieldList() throws(RecordError) -> [HTTPField] {
        try list { (reader) throws(RecordError) in HTTPField(try reader.text(), try reader.text()) }
    }

    mutating func content() throws(RecordError) -> Content {
        Content(
            digest: Digest(bytes: try blob()), length: try integer64(),
            inline: try optional { (reader) throws(RecordError) in try reader.blob() })
    }

    mutating func optionalContent() throws(RecordError) -> Content? {
        try optional { (reader) throws(RecordError) in try reader.content() }
    }

    mutating func optionalText() throws(RecordError) -> String? {
        try optional { (reader) throws(RecordError) in try reader.text() }
    }

    mutating func optionalReal() throws(RecordError) -> Double? {
        try optional { (reader) throws(RecordError) in try reader.real() }
    }

    mutating func optionalConstant<Value: RawRepresentable<String>>() throws(RecordError) -> Value? {
        try optional { (reader) throws(RecordError) in try reader.constant() }
    }

    mutating func answer() throws(RecordError) -> KeptAnswer? {
        try optional { (reader) throws(RecordError) in
            KeptAnswer(
                status: try reader.integer(), fields: try reader.fields(), content: try reader.optionalContent())
        }
    }

    mutating func base() throws(RecordError) -> Base {
        Base(
            etag: try optionalText(), lastModified: try optionalText(), mediaType: try optionalText(),
            content: try optionalContent())
    }

    mutating func policy() throws(RecordError) -> Policy {
        var policy = Policy()
        policy.fetchPolicy = try constant()
        policy.offlineReads = try constant()
        policy.expirationPolicy = try constant()
        policy.expireAfter = try integer64()
        policy.evictionPolicy = try constant()
        policy.updatePolicy = try constant()
        policy.conflictResolutionPolicy = try constant()
        policy.noCache = try flag()
        policy.respectNoStore = try flag()
        policy.post = try optionalConstant()
        policy.guardsWrites = try flag()
        policy.queueOnStatus = try list { (reader) throws(RecordError) in try reader.integer() }
        return policy
    }

    mutating func layer() throws(RecordError) -> PolicyLayer {
        var layer = PolicyLayer()
        layer.fetchPolicy = try optionalConstant()
        layer.offlineReads = try optionalConstant()
        layer.expirationPolicy = try optionalConstant()
        layer.expireAfter = try optional { (reader) throws(RecordError) in try reader.integer64() }
        layer.evictionPolicy = try optionalConstant()
        layer.updatePolicy = try optionalConstant()
        layer.conflictResolutionPolicy = try optionalConstant()
        layer.noCache = try optional { (reader) throws(RecordError) in try reader.flag() }
        layer.respectNoStore = try optional { (reader) throws(RecordError) in try reader.flag() }
        layer.post = try optionalConstant()
        layer.guardsWrites = try optional { (reader) throws(RecordError) in try reader.flag() }
        layer.queueOnStatus = try optional { (reader) throws(RecordError) in
            try reader.list { (reader) throws(RecordError) in try reader.integer() }
        }
        return layer
    }

    mutating func partition() throws(RecordError) -> PartitionID {
        guard let partition = PartitionID(text: try text()) else { throw RecordError() }
        return partition
    }

    mutating func target() throws(RecordError) -> Target { Target(unchecked: try text()) }

    mutating func optionalTarget() throws(RecordError) -> Target? { try optionalText().map { Target(unchecked: $0) } }
}
