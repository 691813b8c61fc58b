import CacheCore
import HTTPModel

/// Repr-Digest and Content-Digest of answers from the store, for those who ask (RFC 9530 4). The digest that a body is kept under is
/// SHA-256: it is sent unless the client says that it does not want it. SHA-512 is sent where it is wanted more and the bytes are at
/// hand; a long body is not read once more for it.
struct WantedDigests {
    let request: HTTPFields
    let makeHash: @Sendable (HashAlgorithm) -> any RunningHash

    /// Adds what the request wants. A field that the origin gave stays. `content` nil: the digest is not known. `isPart`: the answer
    /// carries a part of the representation, whose own digest is not known, and which the origin's Content-Digest does not describe.
    func add(to fields: inout HTTPFields, content: Content?, isPart: Bool = false) {
        if isPart { fields.remove("Content-Digest") }
        guard let content else { return }
        for (wish, name) in [("Want-Repr-Digest", "Repr-Digest"), ("Want-Content-Digest", "Content-Digest")]
        where !fields.contains(name) && !(isPart && name == "Content-Digest") {
            fields[name] = value(wish, content)
        }
    }

    /// An unreadable wish is none; 0 is "not acceptable".
    private func value(_ wish: String, _ content: Content) -> String? {
        guard let value = request.combined(wish), let wishes = SFDictionary(parsing: value), !wishes.entries.isEmpty
        else { return nil }
        func weight(_ algorithm: HashAlgorithm) -> Int64? { wishes[algorithm.rawValue]?.item?.value.integer }
        if weight(.sha512) ?? 0 > weight(.sha256) ?? 0, let bytes = content.inline {
            let hash = makeHash(.sha512)
            hash.update(bytes)
            return DigestFields.text(.sha512, hash.finish())
        }
        return weight(.sha256) == 0 ? nil : DigestFields.text(.sha256, content.digest.bytes)
    }
}
