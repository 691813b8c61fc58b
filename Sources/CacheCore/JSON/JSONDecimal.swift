/// The exact value of a JSON number, for comparing numbers that are written differently, without rounding.
package struct JSONDecimal: Sendable, Hashable, Comparable {
    private let isNegative: Bool
    /// Significant digits (0 to 9) without zeros at either end; empty for zero.
    private let digits: [UInt8]
    /// The value is 0.digits × 10^exponent. Exponents beyond about 10^18 are clamped there.
    private let exponent: Int

    /// Takes the text of a JSON number; nil for all else.
    package init?(_ text: String) {
        var digits: [UInt8] = []
        var exponent = 0
        var isFraction = false
        var bytes = text.utf8[...]
        let isNegative = bytes.first == UInt8(ascii: "-")
        if isNegative { bytes.removeFirst() }
        guard bytes.first?.isJSONDigit == true else { return nil }
        while let byte = bytes.popFirst() {
            if byte.isJSONDigit {
                if digits.isEmpty, byte == 0x30 {
                    if isFraction { exponent -= 1 }
                } else {
                    digits.append(byte & 0x0F)
                    if !isFraction { exponent += 1 }
                }
            } else if byte == UInt8(ascii: "."), !isFraction {
                isFraction = true
            } else if byte | 0x20 == UInt8(ascii: "e") {
                guard let power = Self.power(bytes) else { return nil }
                exponent += power
                break
            } else {
                return nil
            }
        }
        while digits.last == 0 { digits.removeLast() }
        self.digits = digits
        self.isNegative = isNegative && !digits.isEmpty
        self.exponent = digits.isEmpty ? 0 : exponent
    }

    private static func power(_ bytes: Substring.UTF8View) -> Int? {
        let isNegative = bytes.first == UInt8(ascii: "-")
        let digits = isNegative || bytes.first == UInt8(ascii: "+") ? bytes.dropFirst() : bytes
        guard !digits.isEmpty, digits.allSatisfy(\.isJSONDigit) else { return nil }
        let size = Int(Substring(digits)).map { min($0, 1_000_000_000_000_000_000) } ?? 1_000_000_000_000_000_000
        return isNegative ? -size : size
    }

    /// The value where it is whole and fits.
    package var int: Int? {
        if digits.isEmpty { return 0 }
        guard exponent >= digits.count, exponent <= 19 else { return nil }
        var value = 0
        for place in 0..<exponent {
            let digit = place < digits.count ? Int(digits[place]) : 0
            let (product, overflow) = value.multipliedReportingOverflow(by: 10)
            let (sum, overflow2) = product.addingReportingOverflow(isNegative ? -digit : digit)
            if overflow || overflow2 { return nil }
            value = sum
        }
        return value
    }

    package static func < (first: JSONDecimal, second: JSONDecimal) -> Bool {
        let order = first.sign != second.sign ? first.sign - second.sign : first.magnitudeOrder(second) * first.sign
        return order < 0
    }

    private var sign: Int { digits.isEmpty ? 0 : isNegative ? -1 : 1 }

    /// Negative where the magnitude is smaller than the other's, 0 where equal. Neither may be zero with the other not.
    private func magnitudeOrder(_ other: JSONDecimal) -> Int {
        if exponent != other.exponent { return exponent < other.exponent ? -1 : 1 }
        if digits == other.digits { return 0 }
        return digits.lexicographicallyPrecedes(other.digits) ? -1 : 1
    }
}

extension UInt8 {
    fileprivate var isJSONDigit: Bool { self &- 0x30 < 10 }
}
