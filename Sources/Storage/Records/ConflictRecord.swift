import CacheCore
import HTTPModel

extension Conflict {
    var record: [UInt8] {
        var writer = RecordWriter()
        writer.write(id)
        writer.write(key.partition.text)
        writer.write(key.target.text)
        writer.write(kind)
        writer.write(operationID?.text)
        writer.write(method)
        writer.write(fields)
        writer.write(base) { $0.write($1) }
        writer.write(client)
        writer.write(server) { $0.write($1) }
        writer.write(serverIsLatest)
        writer.write(originAnswer)
        writer.write(revision)
        writer.write(policy)
        writer.write(createdAt)
        writer.write(closedAt)
        return writer.bytes
    }

    init(record: [UInt8]) throws(RecordError) {
        var reader = try RecordReader(record)
        let id = try reader.text()
        let key = EntryKey(partition: try reader.partition(), target: try reader.target())
        let kind: ConflictKind = try reader.constant()
        let operationID = try reader.optionalText().map { OperationID($0) }
        let method: HTTPMethod = try reader.constant()
        let fields = try reader.fields()
        let base = try reader.optional { (reader) throws(RecordError) in try reader.version() }
        let client = try reader.version()
        let server = try reader.optional { (reader) throws(RecordError) in try reader.version() }
        let serverIsLatest = try reader.flag()
        let originAnswer = try reader.answer()
        let revision = try reader.integer()
        self.init(
            id: id, key: key, kind: kind, operationID: operationID, method: method, fields: fields, base: base,
            client: client, server: server, serverIsLatest: serverIsLatest, originAnswer: originAnswer,
            policy: try reader.policy(), createdAt: try reader.real())
        self.revision = revision
        closedAt = try reader.optionalReal()
        guard reader.isAtEnd else { throw RecordError() }
    }

    /// Every body that the conflict refers to.
    var contents: [Content] {
        [base?.content, client.content, server?.content, originAnswer?.content].compactMap { $0 }
    }
}

extension RecordWriter {
    mutating func write(_ version: ConflictVersion) {
        write(version.isAbsent)
        write(version.etag)
        write(version.lastModified)
        write(version.mediaType)
        write(version.content)
    }
}

extension RecordReader {
    mutating func version() throws(RecordError) -> ConflictVersion {
        ConflictVersion(
            isAbsent: try flag(), etag: try optionalText(), lastModified: try optionalText(),
            mediaType: try optionalText(), content: try optionalContent())
    }
}
