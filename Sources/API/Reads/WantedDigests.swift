import CacheCore
import HTTPModel

/// Repr-Digest and Content-Digest of answers from the store, for those who ask (RFC 9530 4). The digest that a body is kept under is
/// SHA-256: it is sent unless the client says that it does not want it.
enum WantedDigests {
    /// Adds what the request wants. A field that the origin gave stays. `content` nil: the digest is not known. `isPart`: the answer
    /// carries a part of the representation, whose own digest is not known, and which the origin's Content-Digest does not describe.
    static func add(to fields: inout HTTPFields, _ request: HTTPFields, content: Content?, isPart: Bool = false) {
        if isPart { fields.remove("Content-Digest") }
        guard let content else { return }
        let text = "sha-256=:\(Base64.encode(content.digest.bytes)):"
        if wants("Want-Repr-Digest", in: request), !fields.contains("Repr-Digest") { fields["Repr-Digest"] = text }
        if !isPart, wants("Want-Content-Digest", in: request), !fields.contains("Content-Digest") {
            fields["Content-Digest"] = text
        }
    }

    /// An unreadable wish is none; 0 is "not acceptable".
    private static func wants(_ name: String, in request: HTTPFields) -> Bool {
        guard let value = request.combined(name), let wishes = SFDictionary(parsing: value), !wishes.entries.isEmpty
        else { return false }
        return wishes[HashAlgorithm.sha256.rawValue]?.item?.value.integer != 0
    }
}
