/// The algorithms of RFC 9530 that are checked; others are passed over.
package enum HashAlgorithm: String, Sendable, Hashable, CaseIterable {
    case sha256 = "sha-256"
    case sha512 = "sha-512"

    /// Of a digest, in bytes.
    package var length: Int { self == .sha256 ? 32 : 64 }
}

/// A hash over bytes that pass by. One caller at a time.
package protocol RunningHash: AnyObject, Sendable {
    func update(_ bytes: [UInt8])
    /// The digest of all bytes so far; the hash is used up.
    func finish() -> [UInt8]
}
