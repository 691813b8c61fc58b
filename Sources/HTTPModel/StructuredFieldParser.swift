extension SFItem {
    /// Reads a whole field value as an item (RFC 9651 4.2.3); nil where anything is wrong.
    package init?(parsing value: String) {
        guard let item = SFParser.parse(value, { $0.item() }) else { return nil }
        self = item
    }
}

extension SFList {
    /// Reads a combined field value as a list (RFC 9651 4.2.1); nil where anything is wrong. Empty text is the empty list.
    package init?(parsing value: String) {
        guard let members = SFParser.parse(value, { $0.list() }) else { return nil }
        self.init(members)
    }
}

extension SFDictionary {
    /// Reads a combined field value as a dictionary (RFC 9651 4.2.2); nil where anything is wrong. Empty text is the empty
    /// dictionary.
    package init?(parsing value: String) {
        guard let dictionary = SFParser.parse(value, { $0.dictionary() }) else { return nil }
        self = dictionary
    }
}

/// The algorithms of RFC 9651 4.2; each function is nil where its section says "fail parsing".
private struct SFParser {
    private let bytes: [UInt8]
    private var index = 0

    static func parse<Value>(_ text: String, _ body: (inout SFParser) -> Value?) -> Value? {
        var parser = SFParser(bytes: Array(text.utf8))
        parser.skipSpace()
        guard let value = body(&parser) else { return nil }
        parser.skipSpace()
        return parser.index == parser.bytes.count ? value : nil
    }

    private init(bytes: [UInt8]) { self.bytes = bytes }

    private var current: UInt8? { index < bytes.count ? bytes[index] : nil }

    private mutating func take(_ byte: UInt8) -> Bool {
        guard current == byte else { return false }
        index += 1
        return true
    }

    private mutating func skipSpace() {
        while current == 0x20 { index += 1 }
    }

    /// After a member: true where another one follows, false at the end, nil for a fault such as a comma at the end.
    private mutating func next() -> Bool? {
        skipOptionalSpace()
        if index == bytes.count { return false }
        guard take(UInt8(ascii: ",")) else { return nil }
        skipOptionalSpace()
        return index == bytes.count ? nil : true
    }

    private mutating func skipOptionalSpace() {
        while current?.isFieldSpace == true { index += 1 }
    }

    mutating func list() -> [SFMember]? {
        var members: [SFMember] = []
        while index < bytes.count {
            guard let member = member() else { return nil }
            members.append(member)
            guard let hasNext = next() else { return nil }
            if !hasNext { break }
        }
        return members
    }

    mutating func dictionary() -> SFDictionary? {
        var dictionary = SFDictionary()
        while index < bytes.count {
            guard let name = key() else { return nil }
            if take(UInt8(ascii: "=")) {
                guard let member = member() else { return nil }
                dictionary[name] = member
            } else {
                guard let parameters = parameters() else { return nil }
                dictionary[name] = .item(SFItem(.boolean(true), parameters: parameters))
            }
            guard let hasNext = next() else { return nil }
            if !hasNext { break }
        }
        return dictionary
    }

    private mutating func member() -> SFMember? {
        guard take(UInt8(ascii: "(")) else { return item().map { .item($0) } }
        var items: [SFItem] = []
        while true {
            skipSpace()
            if take(UInt8(ascii: ")")) {
                return parameters().map { .innerList(items, parameters: $0) }
            }
            guard let item = item() else { return nil }
            items.append(item)
            guard current == 0x20 || current == UInt8(ascii: ")") else { return nil }
        }
    }

    mutating func item() -> SFItem? {
        guard let value = bareItem(), let parameters = parameters() else { return nil }
        return SFItem(value, parameters: parameters)
    }

    private mutating func parameters() -> SFParameters? {
        var parameters = SFParameters()
        while take(UInt8(ascii: ";")) {
            skipSpace()
            guard let name = key() else { return nil }
            var value = SFBareItem.boolean(true)
            if take(UInt8(ascii: "=")) {
                guard let item = bareItem() else { return nil }
                value = item
            }
            parameters[name] = value
        }
        return parameters
    }

    private mutating func key() -> String? {
        guard let first = current, first.isSFKeyStart else { return nil }
        return taking(\.isSFKeyByte)
    }

    private mutating func taking(_ condition: (UInt8) -> Bool) -> String {
        let start = index
        while let byte = current, condition(byte) { index += 1 }
        return String(decoding: bytes[start..<index], as: UTF8.self)
    }

    private mutating func bareItem() -> SFBareItem? {
        guard let first = current else { return nil }
        switch first {
        case UInt8(ascii: "-"), 0x30...0x39: return number()
        case UInt8(ascii: "\""):
            index += 1
            return string()
        case UInt8(ascii: ":"):
            index += 1
            return byteSequence()
        case UInt8(ascii: "?"):
            index += 1
            return take(UInt8(ascii: "1")) ? .boolean(true) : take(UInt8(ascii: "0")) ? .boolean(false) : nil
        case UInt8(ascii: "@"):
            index += 1
            guard case .integer(let seconds) = number() else { return nil }
            return .date(seconds)
        case UInt8(ascii: "%"):
            index += 1
            return displayString()
        default: return first.isSFTokenStart ? .token(taking(\.isSFTokenByte)) : nil
        }
    }

    private mutating func number() -> SFBareItem? {
        let sign: Int64 = take(UInt8(ascii: "-")) ? -1 : 1
        let whole = taking(\.isDigit)
        guard !whole.isEmpty, whole.utf8.count <= 15, let value = Int64(whole) else { return nil }
        guard take(UInt8(ascii: ".")) else { return .integer(sign * value) }
        let fraction = taking(\.isDigit)
        guard whole.utf8.count <= 12, (1...3).contains(fraction.utf8.count),
            let part = Int64(fraction + String(repeating: "0", count: 3 - fraction.utf8.count))
        else { return nil }
        return .decimal(thousandths: sign * (value * 1000 + part))
    }

    private mutating func string() -> SFBareItem? {
        var text: [UInt8] = []
        while let byte = current {
            index += 1
            switch byte {
            case UInt8(ascii: "\""): return .string(String(decoding: text, as: UTF8.self))
            case UInt8(ascii: "\\"):
                guard let next = current, next == UInt8(ascii: "\"") || next == UInt8(ascii: "\\") else { return nil }
                text.append(next)
                index += 1
            case 0x20...0x7E: text.append(byte)
            default: return nil
            }
        }
        return nil
    }

    private mutating func byteSequence() -> SFBareItem? {
        let text = taking { $0 != UInt8(ascii: ":") }
        guard take(UInt8(ascii: ":")) else { return nil }
        return Base64.decode(text).map { .byteSequence($0) }
    }

    private mutating func displayString() -> SFBareItem? {
        guard take(UInt8(ascii: "\"")) else { return nil }
        var text: [UInt8] = []
        while let byte = current {
            index += 1
            switch byte {
            case UInt8(ascii: "\""): return String(validating: text, as: UTF8.self).map { .displayString($0) }
            case UInt8(ascii: "%"):
                guard index + 1 < bytes.count, let high = lowerHex(bytes[index]), let low = lowerHex(bytes[index + 1])
                else { return nil }
                text.append(high << 4 | low)
                index += 2
            case 0x20...0x7E: text.append(byte)
            default: return nil
            }
        }
        return nil
    }

    /// Display strings allow lower-case digits only.
    private func lowerHex(_ byte: UInt8) -> UInt8? {
        byte >= UInt8(ascii: "A") && byte <= UInt8(ascii: "F") ? nil : byte.hexValue
    }
}

extension UInt8 {
    private var isLowercase: Bool { self >= UInt8(ascii: "a") && self <= UInt8(ascii: "z") }

    var isSFKeyStart: Bool { isLowercase || self == UInt8(ascii: "*") }

    var isSFKeyByte: Bool {
        isLowercase || isDigit || self == UInt8(ascii: "_") || self == UInt8(ascii: "-") || self == UInt8(ascii: ".")
            || self == UInt8(ascii: "*")
    }

    var isSFTokenStart: Bool { (self | 0x20).isLowercase && self >= 0x40 || self == UInt8(ascii: "*") }

    var isSFTokenByte: Bool { isTokenByte || self == UInt8(ascii: ":") || self == UInt8(ascii: "/") }
}
