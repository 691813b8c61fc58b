import CacheCore
import HTTPModel

extension KeyRecord {
    var record: [UInt8] {
        var writer = RecordWriter()
        writer.write(partition.text)
        writer.write(key)
        writer.write(fingerprint.bytes)
        writer.write(method)
        writer.write(target.text)
        writer.write(answer)
        writer.write(base)
        writer.write(at)
        return writer.bytes
    }

    init(record: [UInt8]) throws(RecordError) {
        var reader = try RecordReader(record)
        self.init(
            partition: try reader.partition(), key: try reader.text(), fingerprint: Digest(bytes: try reader.blob()),
            method: try reader.constant(), target: try reader.target(), answer: try reader.answer(),
            base: try reader.base(), at: try reader.real())
        guard reader.isAtEnd else { throw RecordError() }
    }

    /// Every body that the record refers to.
    var contents: [Content] { [answer?.content, base.content].compactMap { $0 } }
}
