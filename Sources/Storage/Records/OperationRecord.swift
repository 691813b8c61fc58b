import CacheCore
import HTTPModel

extension Operation {
    var record: [UInt8] {
        var writer = RecordWriter(capacity: 640 + (body?.inline?.count ?? 0))
        writer.write(id.text)
        writer.write(sequence)
        writer.write(kind)
        writer.write(method)
        writer.write(partition.text)
        writer.write(target.text)
        writer.write(temporaryTarget?.text)
        writer.write(fields)
        writer.write(body)
        // Mostly the effective copy is the body: its bytes are written once.
        let isBody = effective != nil && effective == body
        writer.write(isBody)
        if !isBody { writer.write(effective) }
        writer.write(effectiveType)
        writer.write(tag)
        writer.write(precondition)
        writer.write(preconditionIsClients)
        writer.write(base)
        writer.write(idempotencyKey)
        writer.write(keyRound)
        writer.write(mergedKeys) { $0.write($1) }
        writer.write(fingerprints) { $0.write($1.bytes) }
        writer.write(policy)
        writer.write(dependsOn) { $0.write($1.text) }
        writer.write(state)
        writer.write(reason)
        writer.write(attempts)
        writer.write(wasSent)
        writer.write(nextAttemptAt)
        writer.write(lastAnswer)
        writer.write(conflictID)
        writer.write(newTarget?.text)
        writer.write(membersBefore) { $0.write($1) }
        writer.write(memberName)
        writer.write(supersededBy?.text)
        writer.write(createdAt)
        writer.write(finishedAt)
        return writer.bytes
    }

    init(record: [UInt8]) throws(RecordError) {
        let reader = try RecordReader(record)
        do throws(RecordError) {
            try self.init(reader, hasMembers: true)
        } catch {
            // The first layout of version 1 had no members. It is shorter by more than another reading of its bytes can make up for.
            guard reader.layout == 1 else { throw error }
            try self.init(reader, hasMembers: false)
        }
    }

    /// `hasMembers`: whether what lists know of a create is in the record.
    private init(_ start: RecordReader, hasMembers: Bool) throws(RecordError) {
        var reader = start
        let id = OperationID(try reader.text())
        let sequence = try reader.integer64()
        let kind = try reader.constant(OperationKind.self)
        let method = try reader.constant(HTTPMethod.self)
        let partition = try reader.partition()
        let target = try reader.target()
        let temporaryTarget = try reader.optionalTarget()
        let fields = try reader.fields()
        let body = try reader.optionalContent()
        let isBody = reader.layout > 2 ? try reader.flag() : false
        let effective = isBody ? body : try reader.optionalContent()
        self.init(
            id: id, sequence: sequence, kind: kind, method: method, partition: partition, target: target,
            temporaryTarget: temporaryTarget, fields: fields, body: body, effective: effective,
            effectiveType: try reader.optionalText(), tag: try reader.text(),
            precondition: try reader.precondition(), preconditionIsClients: try reader.flag(),
            base: try reader.base(), idempotencyKey: try reader.text(), fingerprint: Digest(bytes: []),
            policy: Policy(), createdAt: 0)
        keyRound = try reader.integer()
        mergedKeys = try reader.list { (reader) throws(RecordError) in try reader.text() }
        fingerprints = try reader.list { (reader) throws(RecordError) in Digest(bytes: try reader.blob()) }
        policy = try reader.policy()
        dependsOn = try reader.list { (reader) throws(RecordError) in OperationID(try reader.text()) }
        state = try reader.constant()
        reason = try reader.optionalText()
        attempts = try reader.integer()
        wasSent = try reader.flag()
        nextAttemptAt = try reader.optionalReal()
        lastAnswer = try reader.answer()
        conflictID = try reader.optionalText()
        newTarget = try reader.optionalTarget()
        if hasMembers {
            membersBefore = try reader.optional { (reader) throws(RecordError) in try reader.membersBefore() }
            memberName = try reader.optionalText()
        }
        supersededBy = try reader.optionalText().map { OperationID($0) }
        createdAt = try reader.real()
        finishedAt = try reader.optionalReal()
        guard reader.isAtEnd else { throw RecordError() }
    }

    /// Every body that the operation refers to.
    var contents: [Content] { [body, effective, base.content, lastAnswer?.content].compactMap { $0 } }

    /// Those of them that are files.
    var files: [Content] {
        var files: [Content] = []
        if let body, body.inline == nil { files.append(body) }
        if let effective, effective.inline == nil { files.append(effective) }
        if let content = base.content, content.inline == nil { files.append(content) }
        if let content = lastAnswer?.content, content.inline == nil { files.append(content) }
        return files
    }

    /// Bytes of all bodies.
    var bodyBytes: Int64 {
        let bodies = (body?.length ?? 0) + (effective?.length ?? 0)
        return bodies + (base.content?.length ?? 0) + (lastAnswer?.content?.length ?? 0)
    }
}

extension RecordWriter {
    mutating func write(_ precondition: Precondition) {
        switch precondition {
        case .none: write(UInt64(0))
        case .ifMatch(let value):
            write(UInt64(1))
            write(value)
        case .ifNoneMatch(let value):
            write(UInt64(2))
            write(value)
        case .ifUnmodifiedSince(let value):
            write(UInt64(3))
            write(value)
        }
    }
}

extension RecordWriter {
    mutating func write(_ before: MembersBefore) {
        switch before {
        case .notRead: write(UInt64(0))
        case .unreadable: write(UInt64(1))
        case .marks(let marks, let time):
            write(UInt64(2))
            write(marks) { $0.write($1) }
            write(time)
        }
    }
}

extension RecordReader {
    mutating func membersBefore() throws(RecordError) -> MembersBefore {
        switch try unsigned() {
        case 0: .notRead
        case 1: .unreadable
        case 2: .marks(try list { (reader) throws(RecordError) in try reader.unsigned() }, at: try real())
        default: throw RecordError()
        }
    }
}

extension RecordReader {
    mutating func precondition() throws(RecordError) -> Precondition {
        switch try unsigned() {
        case 0: .none
        case 1: .ifMatch(try text())
        case 2: .ifNoneMatch(try text())
        case 3: .ifUnmodifiedSince(try text())
        default: throw RecordError()
        }
    }
}
