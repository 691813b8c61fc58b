/// Percent-encoding (RFC 3986 2.1), on the bytes that a text stands for.
package enum Percent {
    /// Undoes `%XX`; what is no such triplet stays. `plusIsSpace`: whether `+` is a space, as in forms.
    package static func decode(_ text: some StringProtocol, plusIsSpace: Bool = false) -> String {
        guard text.utf8.contains(where: { $0 == UInt8(ascii: "%") || (plusIsSpace && $0 == UInt8(ascii: "+")) }) else {
            return String(text)
        }
        let source = String(text).fieldBytes
        var bytes: [UInt8] = []
        bytes.reserveCapacity(source.count)
        var index = 0
        while index < source.count {
            let byte = source[index]
            if byte == UInt8(ascii: "%"), index + 2 < source.count, let high = source[index + 1].hexValue,
                let low = source[index + 2].hexValue
            {
                bytes.append(high << 4 | low)
                index += 3
            } else {
                bytes.append(plusIsSpace && byte == UInt8(ascii: "+") ? 0x20 : byte)
                index += 1
            }
        }
        return String(fieldBytes: bytes)
    }

    /// Encodes every byte but letters, digits and `-._~` (RFC 3986 2.3): for a name or value of a query.
    package static func encode(_ text: some StringProtocol) -> String { encode(text) { $0.isUnreserved } }

    /// Encodes what may not stand in one segment of a path (RFC 3986 3.3); `/` and `%` are encoded.
    package static func encodeSegment(_ text: some StringProtocol) -> String { encode(text) { $0.isPathByte } }

    /// Encodes the bytes for which `isKept` is false.
    package static func encode(_ text: some StringProtocol, keeping isKept: (UInt8) -> Bool) -> String {
        // 0xF4 begins what may stand for bytes that are no UTF-8.
        guard text.utf8.contains(where: { !isKept($0) || $0 == 0xF4 }) else { return String(text) }
        let source = String(text).fieldBytes
        var bytes: [UInt8] = []
        bytes.reserveCapacity(source.count + 32)
        for byte in source {
            if isKept(byte) {
                bytes.append(byte)
            } else {
                bytes.append(UInt8(ascii: "%"))
                bytes.append(Hex.digit(byte >> 4, isUpper: true))
                bytes.append(Hex.digit(byte & 0xF, isUpper: true))
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension UInt8 {
    /// unreserved (RFC 3986 2.3).
    var isUnreserved: Bool {
        switch self {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), 0x30...0x39,
            UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"):
            true
        default: false
        }
    }

    /// pchar without percent-encoding (RFC 3986 3.3).
    var isPathByte: Bool {
        switch self {
        case UInt8(ascii: "!"), UInt8(ascii: "$"), UInt8(ascii: "&"), UInt8(ascii: "'"), UInt8(ascii: "("),
            UInt8(ascii: ")"), UInt8(ascii: "*"), UInt8(ascii: "+"), UInt8(ascii: ","), UInt8(ascii: ";"),
            UInt8(ascii: "="), UInt8(ascii: ":"), UInt8(ascii: "@"):
            true
        default: isUnreserved
        }
    }
}
