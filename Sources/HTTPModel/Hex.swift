/// Bytes as hexadecimal digits.
package enum Hex {
    /// Two lower-case digits a byte.
    package static func encode(_ bytes: some Sequence<UInt8>) -> String {
        var text: [UInt8] = []
        for byte in bytes {
            text.append(digit(byte >> 4))
            text.append(digit(byte & 0xF))
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Digits of either case, an even number of them; nil for all else.
    package static func decode(_ text: some StringProtocol) -> [UInt8]? {
        var bytes: [UInt8] = []
        var high: UInt8?
        for character in text.utf8 {
            guard let value = character.hexValue else { return nil }
            if let first = high {
                bytes.append(first << 4 | value)
                high = nil
            } else {
                high = value
            }
        }
        return high == nil ? bytes : nil
    }

    static func digit(_ value: UInt8, isUpper: Bool = false) -> UInt8 {
        value < 10 ? 0x30 + value : (isUpper ? 0x41 : 0x61) + value - 10
    }
}

extension UInt8 {
    /// The value of a hexadecimal digit of either case.
    package var hexValue: UInt8? {
        switch self {
        case 0x30...0x39: self - 0x30
        case 0x41...0x46: self - 0x41 + 10
        case 0x61...0x66: self - 0x61 + 10
        default: nil
        }
    }
}
