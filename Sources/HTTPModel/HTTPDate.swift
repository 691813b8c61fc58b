/// A moment of an HTTP date field, in whole seconds (RFC 9110 5.6.7).
package struct HTTPDate: Sendable, Hashable, Comparable, CustomStringConvertible {
    /// Seconds since 1970-01-01T00:00:00Z.
    package var seconds: Int64

    package init(seconds: Int64) { self.seconds = seconds }

    /// Rounds down to the second. Times outside the years 1 to 9999 are clamped to them.
    package init(_ time: Double) {
        let bounded = time.isNaN ? 0 : min(max(time, -62_135_596_800), 253_402_300_799)
        seconds = Int64(bounded.rounded(.down))
    }

    package static func < (first: HTTPDate, second: HTTPDate) -> Bool { first.seconds < second.seconds }

    /// Reads IMF-fixdate, RFC 850 and asctime forms. The name of the day is not compared with the date; case, repeated space
    /// and a missing comma are forgiven, other zones than GMT and UTC are not. A two-digit year that would lie more than 50
    /// years after `now` (seconds since 1970) is of the century before (RFC 9110 5.6.7). A leap second counts as the next.
    package init?(_ text: String, now: Double) {
        var reader = DateReader(Array(text.utf8))
        guard let date = reader.read(now: now) else { return nil }
        self = date
    }

    /// IMF-fixdate, e.g. `Sun, 06 Nov 1994 08:49:37 GMT`.
    package var description: String { text }

    /// IMF-fixdate, e.g. `Sun, 06 Nov 1994 08:49:37 GMT`.
    package var text: String {
        let moment = CivilTime(seconds: seconds)
        var bytes: [UInt8] = []
        bytes.reserveCapacity(29)
        bytes.append(contentsOf: CivilTime.dayNames[moment.weekday].utf8)
        bytes.append(contentsOf: ", ".utf8)
        bytes.appendDigits(moment.day, width: 2)
        bytes.append(0x20)
        bytes.append(contentsOf: CivilTime.monthNames[moment.month - 1].utf8)
        bytes.append(0x20)
        bytes.appendDigits(moment.year, width: 4)
        bytes.append(0x20)
        bytes.appendDigits(moment.hour, width: 2)
        bytes.append(UInt8(ascii: ":"))
        bytes.appendDigits(moment.minute, width: 2)
        bytes.append(UInt8(ascii: ":"))
        bytes.appendDigits(moment.second, width: 2)
        bytes.append(contentsOf: " GMT".utf8)
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// Takes a date apart into words and numbers; the three forms differ only in their order.
private struct DateReader {
    private static let dayNames = CivilTime.dayNames.map { NameStart(Array($0.utf8)[...]) }
    private static let monthNames = CivilTime.monthNames.map { NameStart(Array($0.utf8)[...]) }
    private static let zones = ["GMT", "UTC"].map { NameStart(Array($0.utf8)[...]) }

    private let bytes: [UInt8]
    private var index = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    mutating func read(now: Double) -> HTTPDate? {
        skipSpace()
        guard Self.dayNames.contains(NameStart(bytes[word()])) else { return nil }
        skip(UInt8(ascii: ","))
        skipSpace()
        var moment = CivilTime()
        let day: (value: Int, digits: Int)
        let year: (value: Int, digits: Int)
        if let month = monthNumber(at: index) {
            // asctime: Sun Nov  6 08:49:37 1994
            _ = word()
            skipSpace()
            guard let number = number(), readTime(&moment), let number2 = self.number() else { return nil }
            (day, year) = (number, number2)
            moment.month = month
            guard year.digits == 4 else { return nil }
        } else {
            guard let number = number() else { return nil }
            day = number
            skip(UInt8(ascii: "-"))
            skipSpace()
            guard let month = monthNumber(at: index) else { return nil }
            moment.month = month
            _ = word()
            skip(UInt8(ascii: "-"))
            skipSpace()
            guard let number2 = self.number(), readTime(&moment) else { return nil }
            year = number2
            let zone = word()
            guard zone.count == 3, Self.zones.contains(NameStart(bytes[zone])) else { return nil }
        }
        skipSpace()
        guard index == bytes.count, day.digits <= 2, year.digits == 4 || year.digits == 2 else { return nil }
        moment.day = day.value
        moment.year = year.value
        if year.digits == 2 {
            let thisYear = CivilTime(seconds: HTTPDate(now).seconds).year
            moment.year += thisYear - thisYear % 100
            // 1999 read in 2026 as "99" would be 2099: more than 50 years ahead, so it is the past one.
            if moment.year > thisYear + 50 { moment.year -= 100 }
        }
        return moment.isValid ? HTTPDate(seconds: moment.seconds) : nil
    }

    private mutating func readTime(_ moment: inout CivilTime) -> Bool {
        skipSpace()
        guard let hour = number(), hour.digits <= 2, take(UInt8(ascii: ":")), let minute = number(), minute.digits == 2,
            take(UInt8(ascii: ":")), let second = number(), second.digits == 2
        else { return false }
        (moment.hour, moment.minute, moment.second) = (hour.value, minute.value, second.value)
        skipSpace()
        return true
    }

    private func monthNumber(at start: Int) -> Int? {
        Self.monthNames.firstIndex(of: NameStart(bytes[start...])).map { $0 + 1 }
    }

    /// Where letters stand from here on.
    private mutating func word() -> Range<Int> {
        let start = index
        while index < bytes.count, bytes[index] | 0x20 >= UInt8(ascii: "a"), bytes[index] | 0x20 <= UInt8(ascii: "z") {
            index += 1
        }
        return start..<index
    }

    /// Up to four digits.
    private mutating func number() -> (value: Int, digits: Int)? {
        let start = index
        var value = 0
        while index < bytes.count, bytes[index].isDigit, index - start < 5 {
            value = value * 10 + Int(bytes[index] & 0x0F)
            index += 1
        }
        return index == start ? nil : (value, index - start)
    }

    private mutating func skipSpace() {
        while index < bytes.count, bytes[index].isFieldSpace { index += 1 }
    }

    private mutating func skip(_ byte: UInt8) { _ = take(byte) }

    private mutating func take(_ byte: UInt8) -> Bool {
        guard index < bytes.count, bytes[index] == byte else { return false }
        index += 1
        return true
    }
}

/// The three letters that tell names of days, months and zones apart, lowered and in one number: dates are read for every answer.
private struct NameStart: Equatable {
    private var letters: UInt32 = 0

    init(_ bytes: ArraySlice<UInt8>) {
        for byte in bytes.prefix(3) { letters = letters << 8 | UInt32(byte.asciiLowercased) }
    }
}
