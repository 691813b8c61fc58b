extension JSONValue: CustomStringConvertible {
    /// The value as JSON without any space. Strings are escaped only where they must be; numbers are as they came.
    package var bytes: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(256)
        write(into: &bytes)
        return bytes
    }

    /// The value as JSON with two spaces a level and a newline at the end, for people.
    package var prettyBytes: [UInt8] {
        var bytes: [UInt8] = []
        writePretty(into: &bytes, indent: 0)
        bytes.append(0x0A)
        return bytes
    }

    /// The text of `bytes`.
    package var description: String { String(decoding: bytes, as: UTF8.self) }

    /// Appends what `bytes` gives.
    package func write(into bytes: inout [UInt8]) {
        switch self {
        case .null: bytes.append(contentsOf: "null".utf8)
        case .bool(let value): bytes.append(contentsOf: (value ? "true" : "false").utf8)
        case .number(let text): bytes.append(contentsOf: text.utf8)
        case .string(let text): JSONText.writeQuoted(text, into: &bytes)
        case .array(let elements):
            bytes.append(UInt8(ascii: "["))
            for (index, element) in elements.enumerated() {
                if index > 0 { bytes.append(UInt8(ascii: ",")) }
                element.write(into: &bytes)
            }
            bytes.append(UInt8(ascii: "]"))
        case .object(let members):
            bytes.append(UInt8(ascii: "{"))
            for (index, member) in members.enumerated() {
                if index > 0 { bytes.append(UInt8(ascii: ",")) }
                JSONText.writeQuoted(member.name, into: &bytes)
                bytes.append(UInt8(ascii: ":"))
                member.value.write(into: &bytes)
            }
            bytes.append(UInt8(ascii: "}"))
        }
    }

    private func writePretty(into bytes: inout [UInt8], indent: Int) {
        func newLine(_ level: Int) {
            bytes.append(0x0A)
            bytes.append(contentsOf: repeatElement(0x20, count: level * 2))
        }
        switch self {
        case .array(let elements) where !elements.isEmpty:
            bytes.append(UInt8(ascii: "["))
            for (index, element) in elements.enumerated() {
                if index > 0 { bytes.append(UInt8(ascii: ",")) }
                newLine(indent + 1)
                element.writePretty(into: &bytes, indent: indent + 1)
            }
            newLine(indent)
            bytes.append(UInt8(ascii: "]"))
        case .object(let members) where !members.isEmpty:
            bytes.append(UInt8(ascii: "{"))
            for (index, member) in members.enumerated() {
                if index > 0 { bytes.append(UInt8(ascii: ",")) }
                newLine(indent + 1)
                JSONText.writeQuoted(member.name, into: &bytes)
                bytes.append(contentsOf: ": ".utf8)
                member.value.writePretty(into: &bytes, indent: indent + 1)
            }
            newLine(indent)
            bytes.append(UInt8(ascii: "}"))
        default: write(into: &bytes)
        }
    }
}

extension JSONText {
    /// Appends a string in quotes.
    static func writeQuoted(_ text: String, into bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\""))
        var text = text
        text.withUTF8 { writeEscaped($0, into: &bytes) }
        bytes.append(UInt8(ascii: "\""))
    }

    private static func writeEscaped(_ source: UnsafeBufferPointer<UInt8>, into bytes: inout [UInt8]) {
        var start = 0
        var index = 0
        while index < source.count {
            let byte = source[index]
            guard byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") || byte == 0xF4 else {
                index += 1
                continue
            }
            if byte == 0xF4, !isHeld(source[index + 1], source[index + 2]) {
                index += 4
                continue
            }
            bytes.append(contentsOf: source[start..<index])
            if byte == 0xF4 {
                let low = UInt32(source[index + 2] & 0x3F) << 6 | UInt32(source[index + 3] & 0x3F)
                index += 4
                start = index
                if low < 0x800 {
                    writeUnit(0xD800 + low, into: &bytes)
                } else if low == mark & 0xFFF {
                    // The scalar behind the mark is meant as it is.
                    index = min(index + 4, source.count)
                } else {
                    start = index - 4
                }
            } else {
                writeEscape(of: byte, into: &bytes)
                index += 1
                start = index
            }
        }
        bytes.append(contentsOf: source[start...])
    }

    private static func writeEscape(of byte: UInt8, into bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\\"))
        switch byte {
        case 0x08: bytes.append(UInt8(ascii: "b"))
        case 0x09: bytes.append(UInt8(ascii: "t"))
        case 0x0A: bytes.append(UInt8(ascii: "n"))
        case 0x0C: bytes.append(UInt8(ascii: "f"))
        case 0x0D: bytes.append(UInt8(ascii: "r"))
        case 0..<0x20:
            bytes.removeLast()
            writeUnit(UInt32(byte), into: &bytes)
        default: bytes.append(byte)
        }
    }

    private static func writeUnit(_ unit: UInt32, into bytes: inout [UInt8]) {
        bytes.append(contentsOf: "\\u".utf8)
        for shift: UInt32 in [12, 8, 4, 0] {
            let digit = UInt8(truncatingIfNeeded: (unit >> shift) & 0xF)
            bytes.append(digit < 10 ? 0x30 + digit : 0x61 - 10 + digit)
        }
    }
}
