/// Lossless passage between the bytes of a field or target and `String`.
///
/// Bytes that are valid UTF-8 become that text. A byte that is not part of valid UTF-8 becomes the scalar U+10FF00 + byte
/// (a private-use scalar nobody sends), so that what was received can be sent again byte for byte (RFC 9110 5.5, obs-text).
extension String {
    /// Decodes field bytes. Never fails; `fieldBytes` gives the same bytes back.
    @inlinable package init(fieldBytes bytes: some Collection<UInt8>) {
        if let text = String(validating: bytes, as: UTF8.self), text.isPlainFieldText {
            self = text
        } else {
            self.init(escaping: Array(bytes))
        }
    }

    /// Decodes bytes of which some have to be escaped.
    @usableFromInline package init(escaping bytes: [UInt8]) {
        var scalars = String.UnicodeScalarView()
        var rest = bytes[...]
        while let first = rest.first {
            let length = first < 0x80 ? 1 : first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2
            let piece = rest.prefix(length)
            if let text = String(validating: piece, as: UTF8.self), let scalar = text.unicodeScalars.first,
                text.unicodeScalars.count == 1, !scalar.isEscapedByte
            {
                scalars.append(scalar)
                rest = rest.dropFirst(length)
            } else {
                scalars.append(Unicode.Scalar(0x10FF00 + UInt32(first))!)
                rest = rest.dropFirst()
            }
        }
        self = String(scalars)
    }

    /// The bytes that `init(fieldBytes:)` was given; for other text its UTF-8.
    package var fieldBytes: [UInt8] {
        guard utf8.contains(0xF4) else { return Array(utf8) }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(utf8.count)
        for scalar in unicodeScalars {
            if scalar.isEscapedByte {
                bytes.append(UInt8(truncatingIfNeeded: scalar.value))
            } else {
                bytes.append(contentsOf: Character(scalar).utf8)
            }
        }
        return bytes
    }

    /// Whether the text came from valid UTF-8 alone.
    @usableFromInline package var isPlainFieldText: Bool {
        // The first byte of an escape in UTF-8 is 0xF4.
        !utf8.contains(0xF4) || !unicodeScalars.contains { $0.isEscapedByte }
    }
}

extension Unicode.Scalar {
    fileprivate var isEscapedByte: Bool { value >= 0x10FF80 && value <= 0x10FFFF }
}
