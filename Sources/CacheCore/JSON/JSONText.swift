/// How strings hold what `String` can't: lone surrogates of `\uXXXX` escapes.
///
/// The surrogate U+D800 + n is held as the private scalar U+10F000 + n. A scalar of that range that came in plain is held
/// behind the mark U+10F800, as is the mark itself. In UTF-8 all of them begin with F4 8F and 80...A0, so that the writer
/// looks at them only after a byte F4.
enum JSONText {
    static let firstSurrogate: UInt32 = 0x10F000
    static let mark: UInt32 = 0x10F800

    /// Whether UTF-8 that begins with F4 and these two bytes is a surrogate that is held, or the mark.
    static func isHeld(_ second: UInt8, _ third: UInt8) -> Bool { second == 0x8F && third <= 0xA0 }

    /// Appends the UTF-8 of a scalar value.
    static func append(_ value: UInt32, to bytes: inout [UInt8]) {
        func tail(_ shift: UInt32) -> UInt8 { 0x80 | UInt8(truncatingIfNeeded: (value >> shift) & 0x3F) }
        switch value {
        case 0..<0x80: bytes.append(UInt8(value))
        case 0x80..<0x800: bytes += [0xC0 | UInt8(value >> 6), tail(0)]
        case 0x800..<0x10000: bytes += [0xE0 | UInt8(value >> 12), tail(6), tail(0)]
        default: bytes += [0xF0 | UInt8(value >> 18), tail(12), tail(6), tail(0)]
        }
    }
}
