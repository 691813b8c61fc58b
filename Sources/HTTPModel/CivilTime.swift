/// A moment in UTC taken apart by the proleptic Gregorian calendar.
struct CivilTime: Sendable, Hashable {
    var year = 1970
    var month = 1
    var day = 1
    var hour = 0
    var minute = 0
    /// 60 for a leap second, which counts as the second after.
    var second = 0

    static let dayNames = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    static let monthNames = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    init() {}

    init(seconds: Int64) {
        var days = Int(seconds / 86_400)
        var rest = Int(seconds % 86_400)
        if rest < 0 {
            rest += 86_400
            days -= 1
        }
        (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60)
        // Counted from 1 March of year 0, so that the leap day ends the year; eras of 400 years are all alike.
        let shifted = days + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
        month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    }

    /// Seconds since 1970.
    var seconds: Int64 { Int64(daysSince1970) * 86_400 + Int64(hour * 3600 + minute * 60 + second) }

    /// 0 for Sunday.
    var weekday: Int { ((daysSince1970 + 4) % 7 + 7) % 7 }

    var isValid: Bool {
        guard (1...12).contains(month), day >= 1, hour >= 0, minute >= 0, second >= 0 else { return false }
        let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
        let length = month == 2 ? (isLeap ? 29 : 28) : [4, 6, 9, 11].contains(month) ? 30 : 31
        return day <= length && hour <= 23 && minute <= 59 && second <= 60
    }

    private var daysSince1970: Int {
        let shiftedYear = month <= 2 ? year - 1 : year
        let era = (shiftedYear >= 0 ? shiftedYear : shiftedYear - 399) / 400
        let yearOfEra = shiftedYear - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }
}

extension [UInt8] {
    /// Appends a number of at least `width` digits, zeros in front. `value` must not be negative.
    package mutating func appendDigits(_ value: Int, width: Int) {
        var unit = 1
        var digits = 1
        while digits < width || value / unit >= 10 {
            unit *= 10
            digits += 1
        }
        while unit > 0 {
            append(0x30 + UInt8(value / unit % 10))
            unit /= 10
        }
    }
}
