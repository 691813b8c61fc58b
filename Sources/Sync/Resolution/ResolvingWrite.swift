package import CacheCore
package import HTTPModel

/// The write that carries a resolution out.
package struct ResolvingWrite: Sendable {
    package var method: HTTPMethod
    package var fields: HTTPFields
    package var body: Content?

    package init(method: HTTPMethod, fields: HTTPFields, body: Content?) {
        self.method = method
        self.fields = fields
        self.body = body
    }

    package var isJSON: Bool { fields["Content-Type"].flatMap { MediaType($0)?.isJSON } ?? false }
}

extension Resolver {
    /// A DELETE where the client's version is none; else a PUT of the client's, the merged, or the patched version.
    /// Throws `Problem`: a patch that is none or does not apply to the server version.
    package static func write(
        _ resolution: Resolution, of conflict: Conflict, server: ConflictVersion, context: DeliveryContext
    ) async throws -> ResolvingWrite {
        var fields = conflict.fields
        let content: Content
        switch resolution {
        case .keepClient, .keepServer:
            guard !conflict.client.isAbsent, let client = conflict.client.content else {
                for name in ["Content-Type", "Content-Encoding", "Content-Language"] { fields.remove(name) }
                return ResolvingWrite(method: .delete, fields: fields, body: nil)
            }
            content = client
            fields["Content-Type"] = conflict.client.mediaType ?? fields["Content-Type"]
        case .merged(let merged, let mediaType):
            content = merged
            fields["Content-Type"] =
                mediaType ?? conflict.client.mediaType ?? conflict.server?.mediaType ?? fields["Content-Type"]
        case .patched(let patch, let mediaType):
            let result = try await patched(server, by: patch, mediaType: mediaType, context: context)
            content = try await context.store.makeContent(result.bytes, for: .operation)
            fields["Content-Type"] = server.mediaType ?? "application/json"
        }
        return ResolvingWrite(method: .put, fields: fields, body: content)
    }

    private static func patched(
        _ server: ConflictVersion, by patch: Content, mediaType: String, context: DeliveryContext
    ) async throws -> JSONValue {
        let lookout = Lookout(context)
        guard let change = try await lookout.json(patch) else { throw Problem(.badJSON, "The patch is not JSON.") }
        let type = MediaType(mediaType)?.essence
        let document = try await lookout.json(server.content)
        if type == "application/json-patch+json" {
            guard let document else { throw Problem(.patchConflict, "The server version is not JSON.") }
            do {
                return try JSONPatch(change).apply(to: document)
            } catch {
                throw Problem(.patchConflict, "The patch does not apply to the server version.")
            }
        }
        guard type == "application/merge-patch+json" || type == "application/json" else {
            throw Problem(.patchType, "Send application/merge-patch+json or application/json-patch+json.")
        }
        return JSONMergePatch.apply(change, to: document)
    }
}
