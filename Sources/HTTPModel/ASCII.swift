extension UInt8 {
    /// The byte with A to Z folded to a to z; others unchanged.
    package var asciiLowercased: UInt8 { self >= 0x41 && self <= 0x5A ? self | 0x20 : self }

    /// SP or HTAB (RFC 9110 5.6.3).
    package var isFieldSpace: Bool { self == 0x20 || self == 0x09 }
    package var isDigit: Bool { self >= 0x30 && self <= 0x39 }

    /// tchar (RFC 9110 5.6.2).
    package var isTokenByte: Bool {
        switch self {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), 0x30...0x39: true
        case UInt8(ascii: "!"), UInt8(ascii: "#"), UInt8(ascii: "$"), UInt8(ascii: "%"), UInt8(ascii: "&"),
            UInt8(ascii: "'"), UInt8(ascii: "*"), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."),
            UInt8(ascii: "^"), UInt8(ascii: "_"), UInt8(ascii: "`"), UInt8(ascii: "|"), UInt8(ascii: "~"):
            true
        default: false
        }
    }
}

extension StringProtocol {
    /// Equality that folds ASCII letters only, as field names and tokens are compared.
    package func equalsIgnoringASCIICase(_ other: some StringProtocol) -> Bool {
        utf8.count == other.utf8.count
            && utf8.elementsEqual(other.utf8) { $0.asciiLowercased == $1.asciiLowercased }
    }

    /// ASCII letters lowered, everything else as it is.
    package var asciiLowercased: String {
        utf8.contains { $0 >= 0x41 && $0 <= 0x5A }
            ? String(decoding: utf8.map(\.asciiLowercased), as: UTF8.self) : String(self)
    }

    /// Without SP and HTAB at both ends.
    package var trimmingFieldSpace: Substring {
        let whole = Substring(self)
        var bytes = whole.utf8
        while bytes.first?.isFieldSpace == true { bytes.removeFirst() }
        while bytes.last?.isFieldSpace == true { bytes.removeLast() }
        return whole[bytes.startIndex..<bytes.endIndex]
    }

    /// Equality by bytes. `==` of `String` takes texts for equal that only look alike (canonical equivalence).
    package func hasSameBytes(as other: some StringProtocol) -> Bool {
        utf8.count == other.utf8.count && utf8.elementsEqual(other.utf8)
    }
}
