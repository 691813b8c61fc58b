/// Base64 (RFC 4648 4) and its form for URLs and tokens (5).
package enum Base64 {
    /// With `+`, `/` and padding.
    package static func encode(_ bytes: some Sequence<UInt8>) -> String {
        encode(bytes, alphabet: standard, pads: true)
    }

    /// With `-` and `_`, without padding, as in JSON Web Tokens.
    package static func encodeURL(_ bytes: some Sequence<UInt8>) -> String {
        encode(bytes, alphabet: urlSafe, pads: false)
    }

    /// Reads the standard form. Padding may be missing, bits behind the last byte may be set; nil for all else that is wrong.
    package static func decode(_ text: some StringProtocol) -> [UInt8]? { decode(text.utf8, alphabet: standard) }

    /// Reads the form for URLs, with or without padding.
    package static func decodeURL(_ text: some StringProtocol) -> [UInt8]? { decode(text.utf8, alphabet: urlSafe) }

    private static let standard = Alphabet(at62: UInt8(ascii: "+"), at63: UInt8(ascii: "/"))
    private static let urlSafe = Alphabet(at62: UInt8(ascii: "-"), at63: UInt8(ascii: "_"))

    private struct Alphabet {
        let at62: UInt8
        let at63: UInt8

        func character(_ value: UInt32) -> UInt8 {
            switch value & 0x3F {
            case let value where value < 26: UInt8(ascii: "A") + UInt8(value)
            case let value where value < 52: UInt8(ascii: "a") + UInt8(value - 26)
            case let value where value < 62: UInt8(ascii: "0") + UInt8(value - 52)
            case 62: at62
            default: at63
            }
        }

        func value(_ character: UInt8) -> UInt32? {
            switch character {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(character - UInt8(ascii: "A"))
            case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(character - UInt8(ascii: "a")) + 26
            case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(character - UInt8(ascii: "0")) + 52
            case at62: 62
            case at63: 63
            default: nil
            }
        }
    }

    private static func encode(_ bytes: some Sequence<UInt8>, alphabet: Alphabet, pads: Bool) -> String {
        var text: [UInt8] = []
        var buffer: UInt32 = 0
        var bits: UInt32 = 0
        for byte in bytes {
            buffer = buffer << 8 | UInt32(byte)
            bits += 8
            while bits >= 6 {
                bits -= 6
                text.append(alphabet.character(buffer >> bits))
            }
            buffer &= 0x3F
        }
        if bits > 0 { text.append(alphabet.character(buffer << (6 - bits))) }
        while pads, text.count % 4 != 0 { text.append(UInt8(ascii: "=")) }
        return String(decoding: text, as: UTF8.self)
    }

    private static func decode(_ text: some Collection<UInt8>, alphabet: Alphabet) -> [UInt8]? {
        let characters = text.prefix { $0 != UInt8(ascii: "=") }
        let padding = text.dropFirst(characters.count)
        guard padding.allSatisfy({ $0 == UInt8(ascii: "=") }), characters.count % 4 != 1,
            padding.isEmpty || (padding.count <= 2 && text.count % 4 == 0)
        else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(characters.count / 4 * 3 + 2)
        var buffer: UInt32 = 0
        var bits: UInt32 = 0
        for character in characters {
            guard let value = alphabet.value(character) else { return nil }
            buffer = buffer << 6 | value
            bits += 6
            if bits >= 8 {
                bits -= 8
                bytes.append(UInt8(truncatingIfNeeded: buffer >> bits))
            }
            buffer &= 0xFFFF
        }
        return bytes
    }
}
