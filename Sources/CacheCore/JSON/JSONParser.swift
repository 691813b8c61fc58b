extension JSONValue {
    /// How deep arrays and objects may nest.
    package static let depthLimit = 512

    /// Reads exactly one JSON text, strictly by RFC 8259: UTF-8 without a byte order mark, no comments, no trailing commas.
    package init(parsing bytes: [UInt8]) throws(JSONError) {
        let result = bytes.withUnsafeBufferPointer { buffer in
            Result { () throws(JSONError) in try JSONValue(parsing: buffer) }
        }
        self = try result.get()
    }

    /// The same for lent bytes.
    package init(parsing bytes: UnsafeRawBufferPointer) throws(JSONError) {
        try self.init(parsing: bytes.bindMemory(to: UInt8.self))
    }

    /// The same for a text.
    package init(parsing text: String) throws(JSONError) { try self.init(parsing: Array(text.utf8)) }

    /// The same for lent bytes.
    package init(parsing bytes: UnsafeBufferPointer<UInt8>) throws(JSONError) {
        var parser = JSONParser(bytes: bytes)
        self = try parser.parse()
    }
}

/// Recursive descent over bytes that are lent for the length of the call.
private struct JSONParser {
    let bytes: UnsafeBufferPointer<UInt8>
    var index = 0
    var depth = 0

    init(bytes: UnsafeBufferPointer<UInt8>) { self.bytes = bytes }

    mutating func parse() throws(JSONError) -> JSONValue {
        if bytes.count >= 3, bytes[0] == 0xEF, bytes[1] == 0xBB, bytes[2] == 0xBF {
            throw error("a byte order mark is not allowed")
        }
        skipSpace()
        let value = try parseValue()
        skipSpace()
        guard index == bytes.count else { throw error("more text after the value") }
        return value
    }

    private var current: UInt8? { index < bytes.count ? bytes[index] : nil }

    private mutating func skipSpace() {
        while index < bytes.count {
            switch bytes[index] {
            case 0x20, 0x0A, 0x0D, 0x09: index += 1
            default: return
            }
        }
    }

    private mutating func parseValue() throws(JSONError) -> JSONValue {
        switch current {
        case UInt8(ascii: "{"): return try parseObject()
        case UInt8(ascii: "["): return try parseArray()
        case UInt8(ascii: "\""): return .string(try parseString())
        case UInt8(ascii: "t"): return try parseWord("true", .bool(true))
        case UInt8(ascii: "f"): return try parseWord("false", .bool(false))
        case UInt8(ascii: "n"): return try parseWord("null", .null)
        case UInt8(ascii: "-"), .some(0x30...0x39): return .number(try parseNumber())
        case nil: throw error("the text ends where a value is expected")
        default: throw error("a value is expected")
        }
    }

    private mutating func enter() throws(JSONError) {
        depth += 1
        guard depth <= JSONValue.depthLimit else { throw error("nested deeper than \(JSONValue.depthLimit)") }
        index += 1
        skipSpace()
    }

    private mutating func parseObject() throws(JSONError) -> JSONValue {
        try enter()
        defer { depth -= 1 }
        var members: [JSONMember] = []
        if current == UInt8(ascii: "}") {
            index += 1
            return .object(members)
        }
        while true {
            guard current == UInt8(ascii: "\"") else { throw error("a member name in quotes is expected") }
            let name = try parseString()
            skipSpace()
            guard current == UInt8(ascii: ":") else { throw error("\":\" is expected") }
            index += 1
            skipSpace()
            members.append(JSONMember(name, try parseValue()))
            skipSpace()
            if current == UInt8(ascii: ",") {
                index += 1
                skipSpace()
            } else if current == UInt8(ascii: "}") {
                index += 1
                return .object(members)
            } else {
                throw error("\",\" or \"}\" is expected")
            }
        }
    }

    private mutating func parseArray() throws(JSONError) -> JSONValue {
        try enter()
        defer { depth -= 1 }
        var elements: [JSONValue] = []
        if current == UInt8(ascii: "]") {
            index += 1
            return .array(elements)
        }
        while true {
            elements.append(try parseValue())
            skipSpace()
            if current == UInt8(ascii: ",") {
                index += 1
                skipSpace()
            } else if current == UInt8(ascii: "]") {
                index += 1
                return .array(elements)
            } else {
                throw error("\",\" or \"]\" is expected")
            }
        }
    }

    private mutating func parseWord(_ word: StaticString, _ value: JSONValue) throws(JSONError) -> JSONValue {
        for offset in 0..<word.utf8CodeUnitCount {
            guard current == word.utf8Start[offset] else { throw error("\"\(word)\" is expected") }
            index += 1
        }
        return value
    }

    private mutating func parseNumber() throws(JSONError) -> String {
        let start = index
        if current == UInt8(ascii: "-") { index += 1 }
        if current == UInt8(ascii: "0") {
            index += 1
            if current?.isDigitByte == true { throw error("a number must not begin with 0") }
        } else {
            try skipDigits()
        }
        if current == UInt8(ascii: ".") {
            index += 1
            try skipDigits()
        }
        if let byte = current, byte | 0x20 == UInt8(ascii: "e") {
            index += 1
            if current == UInt8(ascii: "+") || current == UInt8(ascii: "-") { index += 1 }
            try skipDigits()
        }
        return String(decoding: bytes[start..<index], as: UTF8.self)
    }

    private mutating func skipDigits() throws(JSONError) {
        guard current?.isDigitByte == true else { throw error("a digit is expected") }
        while index < bytes.count, bytes[index].isDigitByte { index += 1 }
    }

    private mutating func parseString() throws(JSONError) -> String {
        index += 1
        let start = index
        while index < bytes.count {
            let byte = bytes[index]
            if byte == UInt8(ascii: "\"") {
                let text = try text(UnsafeBufferPointer(rebasing: bytes[start..<index]), at: start)
                index += 1
                return text
            }
            // F4: may begin a scalar that stands for something else inside.
            if byte == UInt8(ascii: "\\") || byte == 0xF4 { return try parseLongString(from: start) }
            if byte < 0x20 { throw error("a control character must be escaped") }
            index += 1
        }
        throw error("the string does not end")
    }

    /// A string with escapes, from the first of them at `index`.
    private mutating func parseLongString(from start: Int) throws(JSONError) -> String {
        var decoded = Array(bytes[start..<index])
        while index < bytes.count {
            let byte = bytes[index]
            switch byte {
            case UInt8(ascii: "\""):
                let result = decoded.withUnsafeBufferPointer { String(validating: $0, as: UTF8.self) }
                guard let result else { throw error("the string is not UTF-8", at: start) }
                index += 1
                return result
            case UInt8(ascii: "\\"):
                index += 1
                try parseEscape(into: &decoded)
            case 0..<0x20: throw error("a control character must be escaped")
            case 0xF4:
                if index + 2 < bytes.count, JSONText.isHeld(bytes[index + 1], bytes[index + 2]) {
                    JSONText.append(JSONText.mark, to: &decoded)
                }
                decoded.append(byte)
                index += 1
            default:
                decoded.append(byte)
                index += 1
            }
        }
        throw error("the string does not end")
    }

    private mutating func parseEscape(into decoded: inout [UInt8]) throws(JSONError) {
        switch current {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): decoded.append(bytes[index])
        case UInt8(ascii: "b"): decoded.append(0x08)
        case UInt8(ascii: "f"): decoded.append(0x0C)
        case UInt8(ascii: "n"): decoded.append(0x0A)
        case UInt8(ascii: "r"): decoded.append(0x0D)
        case UInt8(ascii: "t"): decoded.append(0x09)
        case UInt8(ascii: "u"):
            index += 1
            try parseUnicodeEscape(into: &decoded)
            return
        default: throw error("unknown escape")
        }
        index += 1
    }

    /// Four hexadecimal digits, and a second escape where they are the first half of a pair.
    private mutating func parseUnicodeEscape(into decoded: inout [UInt8]) throws(JSONError) {
        let unit = try parseFourDigits()
        switch unit {
        case 0xD800..<0xDC00:
            let after = index
            if current == UInt8(ascii: "\\"), index + 1 < bytes.count, bytes[index + 1] == UInt8(ascii: "u") {
                index += 2
                let second = try parseFourDigits()
                if (0xDC00..<0xE000).contains(second) {
                    let scalar = 0x10000 + (unit - 0xD800) << 10 + (second - 0xDC00)
                    appendPlain(scalar, to: &decoded)
                    return
                }
                index = after
            }
            JSONText.append(JSONText.firstSurrogate + unit - 0xD800, to: &decoded)
        case 0xDC00..<0xE000: JSONText.append(JSONText.firstSurrogate + unit - 0xD800, to: &decoded)
        default: JSONText.append(unit, to: &decoded)
        }
    }

    private func appendPlain(_ scalar: UInt32, to decoded: inout [UInt8]) {
        if scalar >= JSONText.firstSurrogate, scalar <= JSONText.mark + 0x3F {
            JSONText.append(JSONText.mark, to: &decoded)
        }
        JSONText.append(scalar, to: &decoded)
    }

    private mutating func parseFourDigits() throws(JSONError) -> UInt32 {
        var value: UInt32 = 0
        for _ in 0..<4 {
            guard let byte = current, let digit = byte.hexDigitValue else {
                throw error("four hexadecimal digits are expected")
            }
            value = value << 4 | UInt32(digit)
            index += 1
        }
        return value
    }

    private func text(_ piece: UnsafeBufferPointer<UInt8>, at start: Int) throws(JSONError) -> String {
        guard let text = String(validating: piece, as: UTF8.self) else {
            throw error("the string is not UTF-8", at: start)
        }
        return text
    }

    private func error(_ reason: String, at offset: Int? = nil) -> JSONError {
        let offset = offset ?? index
        let before = bytes[..<min(offset, bytes.count)]
        let lineStart = before.lastIndex(of: 0x0A).map { $0 + 1 } ?? 0
        let line = 1 + before.count { $0 == 0x0A }
        return JSONError(offset: offset, line: line, column: offset - lineStart + 1, reason: reason)
    }
}

extension UInt8 {
    fileprivate var isDigitByte: Bool { self &- 0x30 < 10 }

    fileprivate var hexDigitValue: UInt8? {
        switch self {
        case 0x30...0x39: self - 0x30
        case 0x41...0x46: self - 0x41 + 10
        case 0x61...0x66: self - 0x61 + 10
        default: nil
        }
    }
}
