import HTTPModel

/// A representation: bytes and their type.
struct Representation: Sendable {
    var content: Content
    var mediaType: String?
}

// What makes bodies: patching, temporary ids, rewriting of names. All of it is bounded by `maxJSONSize`.
extension OperationQueue {
    func bytes(of content: Content) async throws -> [UInt8] {
        let limit = settings.current.maxJSONSize
        guard content.length <= limit else {
            throw Problem(.tooLarge, "JSON that is patched or composed may have \(limit) bytes (maxJSONSize).")
        }
        return try await storeCall { () async throws(StoreError) in try await store.bytes(of: content, limit: limit) }
    }

    func keep(_ value: JSONValue) async throws -> Content {
        let bytes = value.bytes
        guard Int64(bytes.count) <= settings.current.maxJSONSize else {
            throw Problem(.tooLarge, "The patched JSON is larger than maxJSONSize.")
        }
        return try await storeCall { () async throws(StoreError) in
            try await store.makeContent(bytes, for: .operation)
        }
    }

    /// The document that a patch makes of `document`.
    func patched(_ document: Representation?, by patch: Content?, type: String?) async throws -> Content {
        let format = type.flatMap { MediaType($0) }?.essence
        guard format == "application/merge-patch+json" || format == "application/json-patch+json" else {
            throw Problem(
                .patchType, "Send application/merge-patch+json or application/json-patch+json.",
                fields: ["Accept-Patch": "application/merge-patch+json, application/json-patch+json"])
        }
        guard let document else {
            throw Problem(.patchConflict, "No copy is known here that could be patched. Send the whole with PUT.")
        }
        guard let base = try? JSONValue(parsing: try await bytes(of: document.content)) else {
            throw Problem(.patchConflict, "The copy that is known here is no JSON.")
        }
        let change: JSONValue
        do {
            let text: [UInt8] = if let patch { try await bytes(of: patch) } else { [] }
            change = try JSONValue(parsing: text)
        } catch let error as JSONError {
            throw Problem(.badJSON, "The patch is no JSON: \(error).")
        }
        if format == "application/merge-patch+json" { return try await keep(JSONMergePatch.apply(change, to: base)) }
        do {
            return try await keep(try JSONPatch(change).apply(to: base))
        } catch let error as JSONPatchError {
            if error.kind == .malformed { throw Problem(.badJSON, "The patch is no JSON Patch: \(error).") }
            if error.kind == .tooLarge { throw Problem(.tooLarge, "Send the whole with PUT; \(error).") }
            throw Problem(.patchConflict, "The patch does not apply to the copy that is known here: \(error).")
        }
    }

    /// The pointer to the id in a member of the collection.
    private func idPointer(in collection: Target) -> JSONPointer {
        let rule = settings.current.collectionRule(for: collection)
        return JSONPointer(rule.item + rule.id) ?? JSONPointer(tokens: ["id"])
    }

    private func object(_ content: Content?, type: String?) async throws -> JSONValue? {
        guard let content, type.flatMap({ MediaType($0) })?.isJSON ?? false,
            content.length <= settings.current.maxJSONSize,
            let value = try? JSONValue(parsing: try await bytes(of: content)), value.isObject
        else { return nil }
        return value
    }

    /// The body of a create as its member shows until delivery: with the temporary id at the id pointer.
    func withTemporaryID(_ body: Content?, type: String?, collection: Target, id: String) async throws -> Content? {
        guard var value = try await object(body, type: type) else { return body }
        guard idPointer(in: collection).set(.string(id), in: &value) else { return body }
        return try await keep(value)
    }

    /// The inverse, for what a client read here and sends back.
    func withoutTemporaryID(_ body: Content?, type: String?, collection: Target, id: String) async throws -> Content? {
        guard var value = try await object(body, type: type) else { return body }
        let pointer = idPointer(in: collection)
        guard pointer.value(in: value)?.string == id, pointer.remove(from: &value) != nil else { return body }
        return try await keep(value)
    }

    /// The id that the origin gave, as it stands in its answer.
    func realID(in answer: KeptAnswer?, collection: Target) async throws -> JSONValue? {
        guard let answer, let value = try await object(answer.content, type: answer.fields["Content-Type"]) else {
            return nil
        }
        switch idPointer(in: collection).value(in: value) {
        case .string(let text): return .string(text)
        case .number(let text): return .number(text)
        default: return nil
        }
    }

    /// The content with all names rewritten; as it is where it names none or is no JSON.
    func rewritten(_ content: Content?, type: String?, by renamings: [Renaming]) async throws -> Content? {
        guard let content, !renamings.isEmpty, type.flatMap({ MediaType($0) })?.isJSON ?? false,
            content.length <= settings.current.maxJSONSize
        else { return content }
        let text = try await bytes(of: content)
        guard TemporaryTarget.mayOccur(in: text), var value = try? JSONValue(parsing: text) else { return content }
        var didChange = false
        for renaming in renamings where renaming.rewrite(&value) { didChange = true }
        return didChange ? try await keep(value) : content
    }

    /// The temporary ids that a request names in its target, fields and JSON body.
    func namedIDs(target: Target, fields: HTTPFields, body: Content?, type: String?) async throws -> [String] {
        var ids = TemporaryTarget.ids(in: target.text)
        for field in fields { ids += TemporaryTarget.ids(in: field.value) }
        if let body, type.flatMap({ MediaType($0) })?.isJSON ?? false, body.length <= settings.current.maxJSONSize {
            let text = try await bytes(of: body)
            if TemporaryTarget.mayOccur(in: text) {
                ids += TemporaryTarget.ids(in: String(decoding: text, as: UTF8.self))
            }
        }
        return ids
    }
}
