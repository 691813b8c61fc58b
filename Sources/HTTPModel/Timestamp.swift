/// Times as JSON writes them: RFC 3339, in UTC with milliseconds.
package enum Timestamp {
    /// Seconds since 1970 as text, e.g. `2026-07-14T03:33:20.000Z`. Times outside the years 1 to 9999 are clamped.
    package static func format(_ time: Double) -> String {
        let bounded = time.isNaN ? 0 : min(max(time, -62_135_596_800), 253_402_300_799.999)
        let milliseconds = Int64((bounded * 1000).rounded())
        let seconds = milliseconds >= 0 ? milliseconds / 1000 : (milliseconds - 999) / 1000
        let moment = CivilTime(seconds: seconds)
        var bytes: [UInt8] = []
        bytes.reserveCapacity(24)
        bytes.appendDigits(moment.year, width: 4)
        bytes.append(UInt8(ascii: "-"))
        bytes.appendDigits(moment.month, width: 2)
        bytes.append(UInt8(ascii: "-"))
        bytes.appendDigits(moment.day, width: 2)
        bytes.append(UInt8(ascii: "T"))
        bytes.appendDigits(moment.hour, width: 2)
        bytes.append(UInt8(ascii: ":"))
        bytes.appendDigits(moment.minute, width: 2)
        bytes.append(UInt8(ascii: ":"))
        bytes.appendDigits(moment.second, width: 2)
        bytes.append(UInt8(ascii: "."))
        bytes.appendDigits(Int(milliseconds - seconds * 1000), width: 3)
        bytes.append(UInt8(ascii: "Z"))
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Seconds since 1970 of an RFC 3339 text with any offset and number of decimals; nil for all else.
    package static func parse(_ text: String) -> Double? {
        let bytes = Array(text.utf8)
        // 2026-07-14T03:33:20 and at least Z
        guard bytes.count >= 20, bytes[4] == UInt8(ascii: "-"), bytes[7] == UInt8(ascii: "-"),
            bytes[10] | 0x20 == UInt8(ascii: "t") || bytes[10] == 0x20, bytes[13] == UInt8(ascii: ":"),
            bytes[16] == UInt8(ascii: ":"), let year = number(bytes[0..<4]), let month = number(bytes[5..<7]),
            let day = number(bytes[8..<10]), let hour = number(bytes[11..<13]), let minute = number(bytes[14..<16]),
            let second = number(bytes[17..<19])
        else { return nil }
        var moment = CivilTime()
        (moment.year, moment.month, moment.day) = (year, month, day)
        (moment.hour, moment.minute, moment.second) = (hour, minute, second)
        var rest = bytes[19...]
        var fraction = 0.0
        if rest.first == UInt8(ascii: ".") {
            let digits = rest.dropFirst().prefix(while: \.isDigit)
            guard !digits.isEmpty, let value = Double("0." + String(decoding: digits, as: UTF8.self)) else {
                return nil
            }
            fraction = value
            rest = rest[digits.endIndex...]
        }
        guard moment.isValid, let offset = offset(rest) else { return nil }
        return Double(moment.seconds - Int64(offset)) + fraction
    }

    /// Seconds east of UTC.
    private static func offset(_ zone: ArraySlice<UInt8>) -> Int? {
        if zone.count == 1, zone.first! | 0x20 == UInt8(ascii: "z") { return 0 }
        let bytes = Array(zone)
        guard bytes.count == 6, bytes[0] == UInt8(ascii: "+") || bytes[0] == UInt8(ascii: "-"),
            bytes[3] == UInt8(ascii: ":"), let hours = number(bytes[1..<3]), let minutes = number(bytes[4..<6]),
            hours < 24, minutes < 60
        else { return nil }
        return (hours * 3600 + minutes * 60) * (bytes[0] == UInt8(ascii: "-") ? -1 : 1)
    }

    private static func number(_ digits: ArraySlice<UInt8>) -> Int? {
        digits.allSatisfy(\.isDigit) ? digits.reduce(0) { $0 * 10 + Int($1 & 0x0F) } : nil
    }
}
