/// A SHA-256 digest, 32 bytes.
package struct Digest: Sendable, Hashable {
    package let bytes: [UInt8]
    package init(bytes: [UInt8]) { self.bytes = bytes }

    /// 64 lower-case hexadecimal digits.
    package var hex: String {
        String(decoding: bytes.flatMap { [Self.digits[Int($0 >> 4)], Self.digits[Int($0 & 15)]] }, as: UTF8.self)
    }

    private static let digits = Array("0123456789abcdef".utf8)
}

/// Bytes that a store keeps, addressed by digest and stored once. What is committed with a copy, operation, conflict or upload
/// keeps them; so does every value that came from a `BodyWriter`, as long as it lives, whether or not it is ever committed.
package struct Content: Sendable, Hashable {
    package let digest: Digest
    /// In bytes.
    package let length: Int64
    /// The bytes, where they are few enough to travel with their row.
    package let inline: [UInt8]?
    /// The store's own: its end tells that this value needs the bytes no longer. nil for what was read from a row.
    package let hold: (any AnyObject & Sendable)?

    package init(digest: Digest, length: Int64, inline: [UInt8]?, hold: (any AnyObject & Sendable)? = nil) {
        self.digest = digest
        self.length = length
        self.inline = inline
        self.hold = hold
    }

    package static func == (one: Content, other: Content) -> Bool { one.digest == other.digest }
    package func hash(into hasher: inout Hasher) { hasher.combine(digest) }
}
