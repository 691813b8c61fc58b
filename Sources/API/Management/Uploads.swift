import CacheCore
import HTTPModel

/// /cache/uploads: bodies that arrive in parts and survive broken connections, for a write to use (design 7).
extension ManagementService {
    func uploadMethods(_ path: [String]) -> Methods? {
        guard let id = path.first else { return [(.get, uploads), (.post, createUpload)] }
        guard path.count == 1 else { return nil }
        return [
            (.get, { Self.reply(try await upload(id, $0)) }), (.patch, { try await append(to: id, $0) }),
            (.delete, { try await drop(id, $0) }),
        ]
    }

    private static let absent = ManagementCall.notFound("upload")

    private func upload(_ id: String, _ call: ManagementCall) async throws -> Upload {
        guard let upload = try await context.uploads.upload(id), call.maySee(upload.partition) else {
            throw Self.absent
        }
        return upload
    }

    private static func reply(_ upload: Upload, status: Int = 200) -> ManagementReply {
        .json(json(upload), status: status, fields: fields(upload))
    }

    private static func fields(_ upload: Upload) -> HTTPFields {
        var fields: HTTPFields = ["Upload-Offset": String(upload.offset)]
        fields["Upload-Length"] = upload.length.map { String($0) }
        return fields
    }

    private static func json(_ upload: Upload) -> JSONValue {
        .object(omittingNil: [
            "id": .string(upload.id), "partition": .string(upload.partition.text),
            "mediaType": upload.mediaType.map { .string($0) }, "length": upload.length.map { JSONValue($0) },
            "offset": JSONValue(upload.offset), "complete": .bool(upload.isComplete),
            "used": .bool(upload.content != nil), "createdAt": .string(Timestamp.format(upload.createdAt)),
            "changedAt": .string(Timestamp.format(upload.changedAt)),
        ])
    }

    @Sendable private func uploads(_ call: ManagementCall) async throws -> ManagementReply {
        let page = try await context.uploads.uploads(
            partitions: try call.visiblePartitions(), after: call.query["after"], limit: try call.limit())
        return ManagementCall.list(page.items.map { Self.json($0) }, next: page.next)
    }

    /// A body of the request is the first part.
    @Sendable private func createUpload(_ call: ManagementCall) async throws -> ManagementReply {
        let fields = call.exchange.head.fields
        let length = try Self.number("Upload-Length", fields)
        let limit = call.settings.maxBodySize
        if let length, length > limit { throw Self.tooLarge(limit) }
        let now = context.clock.now
        let upload = Upload(
            id: IDs.record(now: now), partition: call.partition, mediaType: fields["Content-Type"], length: length,
            createdAt: now, changedAt: now)
        try await context.uploads.create(upload)
        do {
            try await receive(upload, call)
        } catch {
            // Nobody has learnt its name.
            _ = try await context.uploads.removeUpload(upload.id)
            throw error
        }
        var reply = Self.reply(try await self.upload(upload.id, call), status: 201)
        reply.fields["Location"] = "/cache/uploads/" + upload.id
        return reply
    }

    private func append(to id: String, _ call: ManagementCall) async throws -> ManagementReply {
        guard let offset = try Self.number("Upload-Offset", call.exchange.head.fields) else {
            throw Problem(
                .badRequest, "Say in Upload-Offset where this part begins. HEAD tells where the upload stands.")
        }
        var upload = try await upload(id, call)
        guard upload.offset == offset else { throw Self.elsewhere(upload.offset) }
        do {
            try await receive(upload, call)
        } catch is ExchangeError {
            // What has arrived counts: put it on disk while nobody waits.
            _ = try await context.uploads.upload(id)
            throw ExchangeError.disconnected
        }
        upload = try await self.upload(id, call)
        return ManagementReply(status: 204, fields: Self.fields(upload), body: .bytes([]))
    }

    /// Takes the request's body behind what is there. A part that is not the one that its Content-Digest says is taken back.
    private func receive(_ upload: Upload, _ call: ManagementCall) async throws {
        let check = try DigestCheck(call.exchange.head.fields, fields: ["Content-Digest"], context.hash)
        let limit = call.settings.maxBodySize
        let end = upload.length ?? limit
        let coming = call.exchange.head.bodyLength
        if let coming, coming > end - upload.offset { throw Self.beyond(upload, limit: limit) }
        // What can't become whole would only take the room of others until it goes.
        if let rest = upload.length.map({ $0 - upload.offset }) ?? coming {
            try await context.uploads.makeRoom(for: rest)
        }
        var offset = upload.offset
        while let piece = try await call.exchange.readBody() {
            guard Int64(piece.count) <= end - offset else { throw Self.beyond(upload, limit: limit) }
            switch try await context.uploads.append(piece, to: upload.id, at: offset) {
            case .taken: offset += Int64(piece.count)
            case .elsewhere(let present): throw Self.elsewhere(present)
            case .sealed: throw Problem(.uploadSealed, "A write has used it. Begin another one.")
            case .absent: throw Self.absent
            }
            check?.update(piece)
        }
        do {
            try check?.verify()
        } catch {
            try await context.uploads.truncate(upload.id, to: upload.offset)
            throw error
        }
    }

    private func drop(_ id: String, _ call: ManagementCall) async throws -> ManagementReply {
        _ = try await upload(id, call)
        guard try await context.uploads.removeUpload(id) else { throw Self.absent }
        return .noContent
    }

    // MARK: Refusals

    private static func elsewhere(_ offset: Int64) -> Problem {
        Problem(
            .uploadOffset, "Send the part that begins at byte \(offset).", fields: ["Upload-Offset": String(offset)],
            members: [.init("offset", json: String(offset))])
    }

    private static func beyond(_ upload: Upload, limit: Int64) -> Problem {
        upload.length.map { Problem(.badRequest, "The upload was announced with \($0) bytes; this part goes beyond.") }
            ?? tooLarge(limit)
    }

    private static func tooLarge(_ limit: Int64) -> Problem {
        Problem(.tooLarge, "A body has at most \(limit) bytes (maxBodySize).")
    }

    /// A field with a whole number from 0; nil where it is absent.
    private static func number(_ name: String, _ fields: HTTPFields) throws -> Int64? {
        guard let text = fields.combined(name) else { return nil }
        guard text.utf8.allSatisfy({ $0.isDigit }), let number = Int64(text) else {
            throw Problem(.badRequest, "\(name) is a whole number of bytes.")
        }
        return number
    }
}
