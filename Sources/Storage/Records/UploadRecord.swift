import CacheCore

extension Upload {
    var record: [UInt8] {
        var writer = RecordWriter()
        writer.write(id)
        writer.write(partition.text)
        writer.write(mediaType)
        writer.write(length)
        writer.write(offset)
        writer.write(createdAt)
        writer.write(changedAt)
        writer.write(content)
        return writer.bytes
    }

    init(record: [UInt8]) throws(RecordError) {
        var reader = try RecordReader(record)
        self.init(
            id: try reader.text(), partition: try reader.partition(), mediaType: try reader.optionalText(),
            length: try reader.optional { (reader) throws(RecordError) in try reader.integer64() },
            offset: try reader.integer64(), createdAt: try reader.real(), changedAt: try reader.real(),
            content: try reader.optionalContent())
        guard reader.isAtEnd else { throw RecordError() }
    }

    /// Every body that the record refers to.
    var contents: [Content] { [content].compactMap { $0 } }

    /// Bytes in its own file.
    var fileBytes: Int64 { content == nil ? offset : 0 }
}
