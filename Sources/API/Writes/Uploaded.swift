import CacheCore
import HTTPModel

/// The upload that a write names in place of a body (design 7).
struct Uploaded: Sendable {
    private let id: String
    let content: Content
    /// The write with the upload's length, and its type where the write says none.
    let request: ResourceRequest

    /// nil where the request names none. Throws where it can't be used: it is unknown to who writes, not complete, or the write has a
    /// body of its own. From now on it takes no more bytes.
    static func find(for request: ResourceRequest, in context: ServiceContext) async throws -> Uploaded? {
        guard request.method.isQueueable, let id = request.head.fields["Upload"]?.trimmingFieldSpace else { return nil }
        guard request.method != .delete else {
            throw Problem(.badRequest, "PUT, POST and PATCH take an upload as their body.")
        }
        guard request.head.bodyLength == 0 else {
            throw Problem(.badRequest, "A write that names an upload has no body of its own.")
        }
        let absent = Problem(.notFound, "There is no such upload. GET /cache/uploads lists what is kept.")
        guard let upload = try await context.uploads.upload(String(id)), isOwn(upload, request, context) else {
            throw absent
        }
        guard upload.isComplete else {
            throw Problem(
                .uploadIncomplete, "Send the rest of it first: PATCH /cache/uploads/\(id).",
                fields: ["Upload-Offset": String(upload.offset)])
        }
        guard let content = try await context.uploads.seal(upload.id) else { throw absent }
        return Uploaded(
            id: upload.id, content: content,
            request: request.carrying(length: content.length, mediaType: upload.mediaType))
    }

    /// Whether who writes began it: with the target named, or without. Uploads of all targets lie in one place, and the partition of a
    /// target in another store is made with another key.
    private static func isOwn(_ upload: Upload, _ request: ResourceRequest, _ context: ServiceContext) -> Bool {
        if upload.partition == request.key.partition { return true }
        let caller = context.identity(
            of: request.head.fields, at: Target(unchecked: ""), settings: request.settings)
        return upload.partition == caller.partition && !caller.credentials.isEmpty
            && (!caller.isPartial || context.credentials.isProven(caller.credentials, for: caller.partition))
    }

    /// The write was taken: the upload has done its work. Under an Idempotency-Key it stays, for the repeat that the key is for.
    func use(under key: String?, in context: ServiceContext) async {
        guard key == nil else { return }
        do {
            _ = try await context.uploads.removeUpload(id)
        } catch {
            // The write is taken all the same; the upload goes when nobody has touched it for long.
            context.log.write(.warning, "a used upload could not be removed", [("error", "\(error)")])
        }
    }
}
