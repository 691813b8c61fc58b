/// The list syntax of field values (RFC 9110 5.6.1) and what stands inside its elements.
package enum FieldList {
    /// The elements of a comma-separated value without the space around them; empty ones are skipped. A comma inside double
    /// quotes does not separate. `backslashEscapes`: whether `\"` inside quotes is a quote of the text (a quoted-string) or
    /// a backslash before the end (an entity tag). A quote that never ends takes the rest.
    package static func split(
        _ value: String, separator: UInt8 = UInt8(ascii: ","), backslashEscapes: Bool = true
    ) -> [Substring] {
        var elements: [Substring] = []
        let bytes = value.utf8
        var start = bytes.startIndex
        var index = start
        var isQuoted = false
        func close(_ end: String.Index) {
            let element = value[start..<end].trimmingFieldSpace
            if !element.isEmpty { elements.append(element) }
        }
        while index < bytes.endIndex {
            let byte = bytes[index]
            if byte == UInt8(ascii: "\"") {
                isQuoted.toggle()
            } else if isQuoted, backslashEscapes, byte == UInt8(ascii: "\\") {
                bytes.formIndex(after: &index)
                if index == bytes.endIndex { break }
            } else if byte == separator, !isQuoted {
                close(index)
                start = bytes.index(after: index)
            }
            bytes.formIndex(after: &index)
        }
        close(bytes.endIndex)
        return elements
    }

    /// The text of a quoted-string with its escapes undone (RFC 9110 5.6.4), or the value itself where it is not quoted.
    /// A missing end quote is tolerated.
    package static func unquote(_ value: some StringProtocol) -> String {
        guard value.utf8.first == UInt8(ascii: "\"") else { return String(value) }
        var bytes: [UInt8] = []
        var isEscaped = false
        for byte in value.utf8.dropFirst() {
            if isEscaped {
                bytes.append(byte)
                isEscaped = false
            } else if byte == UInt8(ascii: "\\") {
                isEscaped = true
            } else if byte == UInt8(ascii: "\"") {
                break
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// A quoted-string of the text (RFC 9110 5.6.4).
    package static func quote(_ text: String) -> String {
        var bytes: [UInt8] = [UInt8(ascii: "\"")]
        for byte in text.utf8 {
            if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { bytes.append(UInt8(ascii: "\\")) }
            bytes.append(byte)
        }
        bytes.append(UInt8(ascii: "\""))
        return String(decoding: bytes, as: UTF8.self)
    }
}
