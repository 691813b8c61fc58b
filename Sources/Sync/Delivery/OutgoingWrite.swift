package import CacheCore
package import HTTPModel

/// What an operation puts on the wire, but for credentials and Via.
package struct OutgoingWrite: Sendable {
    package var method: HTTPMethod
    package var fields: HTTPFields
    package var body: Content?

    package init(_ operation: Operation) {
        method = operation.method
        fields = operation.fields
        body = operation.body
        if Self.recreates(operation) {
            // Nothing is there to be patched: the patch's result is sent whole (design 6, CLIENT_WINS on what is gone).
            method = .put
            body = operation.effective
            fields["Content-Type"] = operation.effectiveType ?? "application/json"
        }
        // A body that was merged or edited since is another one than its digest says: the digest is that of what goes out.
        for name in DigestFields.names {
            guard let stated = fields.combined(name), !DigestFields.describe(stated, body) else { continue }
            fields[name] = body.map { DigestFields.text(.sha256, $0.digest.bytes) }
        }
        fields["Idempotency-Key"] =
            operation.keyRound <= 1 ? operation.idempotencyKey : "\(operation.idempotencyKey).\(operation.keyRound)"
        switch operation.precondition {
        case .none: break
        case .ifMatch(let tags): fields["If-Match"] = tags
        case .ifNoneMatch(let tags): fields["If-None-Match"] = tags
        case .ifUnmodifiedSince(let date): fields["If-Unmodified-Since"] = date
        }
    }

    /// Whether the answer should be JSON, for the signs of a portal.
    package var expectsJSON: Bool {
        if let type = fields["Content-Type"].flatMap({ MediaType($0) }) { return type.isJSON }
        return fields.combined("Accept").map { accept in
            FieldList.split(accept).contains { MediaType(String($0))?.isJSON ?? false }
        } ?? false
    }

    /// Whether a PATCH goes out as the PUT of its result. Nobody can send a PATCH that only applies where nothing is, so this
    /// precondition says that delivery has made it.
    package static func recreates(_ operation: Operation) -> Bool {
        operation.method == .patch && operation.precondition == .ifNoneMatch("*") && operation.effective != nil
    }
}
