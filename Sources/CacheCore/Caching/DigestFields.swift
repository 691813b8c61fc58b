import HTTPModel

/// Repr-Digest and Content-Digest (RFC 9530).
package enum DigestFields {
    package static let names = ["Repr-Digest", "Content-Digest"]

    /// A value that states one digest.
    package static func text(_ algorithm: HashAlgorithm, _ digest: [UInt8]) -> String {
        "\(algorithm.rawValue)=:\(Base64.encode(digest)):"
    }

    /// Whether a value states the SHA-256 of that content. One that states other digests alone can't be told, and is not.
    package static func describe(_ value: String?, _ content: Content?) -> Bool {
        guard let value, let stated = SFDictionary(parsing: value)?[HashAlgorithm.sha256.rawValue]?.item?.value else {
            return false
        }
        return stated == .byteSequence((content ?? .empty).digest.bytes)
    }
}
