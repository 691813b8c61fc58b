extension UInt8 {
    /// The byte with A to Z folded to a to z; others unchanged.
    @inlinable package var asciiLowercased: UInt8 { self >= 0x41 && self <= 0x5A ? self | 0x20 : self }

    /// SP or HTAB (RFC 9110 5.6.3).
    @inlinable package var isFieldSpace: Bool { self == 0x20 || self == 0x09 }
    @inlinable package var isDigit: Bool { self >= 0x30 && self <= 0x39 }

    /// tchar (RFC 9110 5.6.2).
    @inlinable package var isTokenByte: Bool {
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

extension String {
    /// The same as for any text. Names of fields are compared many times a request: this one looks at the bytes in place.
    package func equalsIgnoringASCIICase(_ other: String) -> Bool {
        guard utf8.count == other.utf8.count else { return false }
        let (one, other) = (utf8.span, other.utf8.span)
        for index in one.indices where one[index].asciiLowercased != other[index].asciiLowercased { return false }
        return true
    }

    /// Whether it begins with those letters, in any case.
    package func hasPrefixIgnoringASCIICase(_ prefix: String) -> Bool {
        let (bytes, prefix) = (utf8.span, prefix.utf8.span)
        guard bytes.count >= prefix.count else { return false }
        for index in prefix.indices where bytes[index].asciiLowercased != prefix[index].asciiLowercased { return false }
        return true
    }

    /// Whether the bytes of `part` stand in it somewhere. `contains` of the standard library costs a microsecond before it looks.
    package func hasBytes(of part: String) -> Bool {
        let (bytes, wanted) = (utf8.span, part.utf8.span)
        guard bytes.count >= wanted.count else { return false }
        for start in 0...(bytes.count - wanted.count) {
            var length = 0
            while length < wanted.count, bytes[start + length] == wanted[length] { length += 1 }
            if length == wanted.count { return true }
        }
        return false
    }
}

/// Inlinable, so that the callers in other modules get code for the texts that they have.
extension StringProtocol {
    /// Equality that folds ASCII letters only, as field names and tokens are compared.
    @inlinable package func equalsIgnoringASCIICase(_ other: some StringProtocol) -> Bool {
        utf8.count == other.utf8.count
            && utf8.elementsEqual(other.utf8) { $0.asciiLowercased == $1.asciiLowercased }
    }

    /// ASCII letters lowered, everything else as it is.
    @inlinable package var asciiLowercased: String {
        utf8.contains { $0 >= 0x41 && $0 <= 0x5A }
            ? String(decoding: utf8.map { $0.asciiLowercased }, as: UTF8.self) : String(self)
    }

    /// Without SP and HTAB at both ends.
    @inlinable package var trimmingFieldSpace: Substring {
        let whole = Substring(self)
        var bytes = whole.utf8
        while bytes.first?.isFieldSpace == true { bytes.removeFirst() }
        while bytes.last?.isFieldSpace == true { bytes.removeLast() }
        return whole[bytes.startIndex..<bytes.endIndex]
    }

    /// Equality by bytes. `==` of `String` takes texts for equal that only look alike (canonical equivalence).
    @inlinable package func hasSameBytes(as other: some StringProtocol) -> Bool {
        utf8.count == other.utf8.count && utf8.elementsEqual(other.utf8)
    }
}
