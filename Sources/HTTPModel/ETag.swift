/// An entity tag (RFC 9110 8.8.3), kept byte for byte as it was received: with its quotes, with `W/`, or unquoted where an
/// origin sends it so.
package struct ETag: Sendable, Hashable, CustomStringConvertible {
    /// The tag as received and as it is sent again.
    package let text: String

    /// Takes the text without any check; space at both ends is dropped.
    package init(_ text: String) { self.text = String(text.trimmingFieldSpace) }

    /// A strong tag of the opaque text, in quotes. `opaque` must not hold a quote.
    package init(quoting opaque: String) { text = "\"\(opaque)\"" }

    package var description: String { text }

    /// Whether the tag begins with `W/` (in capital, RFC 9110 8.8.3).
    package var isWeak: Bool { text.utf8.starts(with: "W/".utf8) }

    /// Whether the tag may prove equality of bytes: neither weak nor empty.
    package var isStrong: Bool { !isWeak && !text.isEmpty }

    /// What is compared: the tag without `W/`, quotes included. An unquoted tag differs from the quoted one.
    package var opaque: Substring { isWeak ? text[text.utf8.index(text.startIndex, offsetBy: 2)...] : text[...] }

    /// Strong comparison (RFC 9110 8.8.3.2): both strong and the same bytes.
    package func strongMatches(_ other: ETag) -> Bool {
        isStrong && other.isStrong && text.hasSameBytes(as: other.text)
    }

    /// Weak comparison (RFC 9110 8.8.3.2): the same bytes, whether weak or not.
    package func weakMatches(_ other: ETag) -> Bool { opaque.hasSameBytes(as: other.opaque) && !text.isEmpty }

    package static func == (first: ETag, second: ETag) -> Bool { first.text.hasSameBytes(as: second.text) }
    package func hash(into hasher: inout Hasher) { hasher.combine(text) }
}

extension HTTPFields {
    /// The entity tag of an answer: the first `ETag` line, nil where there is none or it is empty.
    package var etag: ETag? { self["ETag"].map { ETag($0) }.flatMap { $0.text.isEmpty ? nil : $0 } }
}
