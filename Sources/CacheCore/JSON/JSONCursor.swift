/// Walks over JSON text without building values: where a value ends, what an array holds, where a pointer leads. What it
/// passes is checked against the grammar (RFC 8259), but for the UTF-8 inside strings. Ranges are offsets into `bytes`.
package struct JSONCursor: Sendable {
    package let bytes: [UInt8]
    package private(set) var index: Int

    package init(_ bytes: [UInt8], at index: Int = 0) {
        self.bytes = bytes
        self.index = index
    }

    /// The one value of a whole text, without the space around it; nil where the text is not JSON.
    package static func whole(_ bytes: [UInt8]) -> Range<Int>? {
        var cursor = JSONCursor(bytes)
        guard let value = cursor.passValue() else { return nil }
        cursor.passSpace()
        return cursor.index == bytes.count ? value : nil
    }

    /// Passes space and one value; its range, or nil where there is none.
    package mutating func passValue() -> Range<Int>? { passValue(depth: 0) }

    private mutating func passValue(depth: Int) -> Range<Int>? {
        passSpace()
        let start = index
        let isPassed =
            switch current {
            case UInt8(ascii: "{"): passMembers(depth: depth)
            case UInt8(ascii: "["): passElements(depth: depth)
            case UInt8(ascii: "\""): passString()
            case UInt8(ascii: "t"): pass("true")
            case UInt8(ascii: "f"): pass("false")
            case UInt8(ascii: "n"): pass("null")
            default: passNumber()
            }
        return isPassed ? start..<index : nil
    }

    var current: UInt8? { index < bytes.count ? bytes[index] : nil }

    mutating func passSpace() {
        while index < bytes.count {
            switch bytes[index] {
            case 0x20, 0x0A, 0x0D, 0x09: index += 1
            default: return
            }
        }
    }

    /// Passes space and the byte; false where another one is there.
    mutating func pass(byte: UInt8) -> Bool {
        passSpace()
        guard current == byte else { return false }
        index += 1
        return true
    }

    private mutating func pass(_ word: StaticString) -> Bool {
        let matches = word.withUTF8Buffer { bytes[index...].starts(with: $0) }
        if matches { index += word.utf8CodeUnitCount }
        return matches
    }

    private mutating func passElements(depth: Int) -> Bool {
        guard depth < JSONValue.depthLimit, pass(byte: UInt8(ascii: "[")) else { return false }
        if pass(byte: UInt8(ascii: "]")) { return true }
        repeat {
            guard passValue(depth: depth + 1) != nil else { return false }
        } while pass(byte: UInt8(ascii: ","))
        return pass(byte: UInt8(ascii: "]"))
    }

    private mutating func passMembers(depth: Int) -> Bool {
        guard depth < JSONValue.depthLimit, pass(byte: UInt8(ascii: "{")) else { return false }
        if pass(byte: UInt8(ascii: "}")) { return true }
        repeat {
            passSpace()
            guard passString(), pass(byte: UInt8(ascii: ":")), passValue(depth: depth + 1) != nil else { return false }
        } while pass(byte: UInt8(ascii: ","))
        return pass(byte: UInt8(ascii: "}"))
    }

    mutating func passString() -> Bool {
        guard current == UInt8(ascii: "\"") else { return false }
        index += 1
        while let byte = current {
            index += 1
            switch byte {
            case UInt8(ascii: "\""): return true
            case UInt8(ascii: "\\"): guard passEscape() else { return false }
            case 0..<0x20: return false
            default: break
            }
        }
        return false
    }

    private mutating func passEscape() -> Bool {
        guard let byte = current else { return false }
        index += 1
        guard byte == UInt8(ascii: "u") else { return "\"\\/bfnrt".utf8.contains(byte) }
        let end = index + 4
        while index < end {
            guard let digit = current, digit.isHexDigit else { return false }
            index += 1
        }
        return true
    }

    private mutating func passNumber() -> Bool {
        if current == UInt8(ascii: "-") { index += 1 }
        if current == UInt8(ascii: "0") {
            index += 1
        } else if !passDigits() {
            return false
        }
        if current == UInt8(ascii: ".") {
            index += 1
            guard passDigits() else { return false }
        }
        if current == UInt8(ascii: "e") || current == UInt8(ascii: "E") {
            index += 1
            if current == UInt8(ascii: "+") || current == UInt8(ascii: "-") { index += 1 }
            guard passDigits() else { return false }
        }
        return true
    }

    private mutating func passDigits() -> Bool {
        let start = index
        while let byte = current, byte &- 0x30 < 10 { index += 1 }
        return index > start
    }
}

extension JSONCursor {
    /// Where the pointer leads in the value at `range`, which was passed before. nil where it leads nowhere.
    package static func find(_ pointer: JSONPointer, in bytes: [UInt8], at range: Range<Int>) -> Range<Int>? {
        var found = range
        for token in pointer.tokens {
            let next =
                switch bytes[found.lowerBound] {
                case UInt8(ascii: "{"): member(token, of: found, in: bytes)
                case UInt8(ascii: "["): element(token, of: found, in: bytes)
                default: nil as Range<Int>?
                }
            guard let next else { return nil }
            found = next
        }
        return found
    }

    /// The last member of that name (as `JSONValue` has it).
    private static func member(_ name: String, of object: Range<Int>, in bytes: [UInt8]) -> Range<Int>? {
        var cursor = JSONCursor(bytes, at: object.lowerBound + 1)
        var found: Range<Int>?
        guard !cursor.pass(byte: UInt8(ascii: "}")) else { return nil }
        repeat {
            cursor.passSpace()
            let start = cursor.index
            guard cursor.passString() else { return nil }
            let key = bytes[start..<cursor.index]
            guard cursor.pass(byte: UInt8(ascii: ":")), let value = cursor.passValue() else { return nil }
            if isKey(key, name) { found = value }
        } while cursor.pass(byte: UInt8(ascii: ","))
        return found
    }

    private static func isKey(_ quoted: ArraySlice<UInt8>, _ name: String) -> Bool {
        // F4 may begin a scalar that stands for something else inside (`JSONText`).
        guard quoted.contains(where: { $0 == UInt8(ascii: "\\") || $0 == 0xF4 }) else {
            return quoted.dropFirst().dropLast().elementsEqual(name.utf8)
        }
        return (try? JSONValue(parsing: Array(quoted)))?.string?.isSameText(as: name) ?? false
    }

    private static func element(_ token: String, of array: Range<Int>, in bytes: [UInt8]) -> Range<Int>? {
        guard let place = Int(token), place >= 0, String(place) == token else { return nil }
        var elements = JSONElements(bytes, of: array)
        for _ in 0..<place where elements.next() == nil { return nil }
        return elements.next()
    }
}

/// The elements of an array that was passed before, by their ranges.
package struct JSONElements: Sequence, IteratorProtocol, Sendable {
    private var cursor: JSONCursor
    private var isAtStart = true

    package init(_ bytes: [UInt8], of array: Range<Int>) { cursor = JSONCursor(bytes, at: array.lowerBound) }

    package mutating func next() -> Range<Int>? {
        guard cursor.pass(byte: isAtStart ? UInt8(ascii: "[") : UInt8(ascii: ",")) else { return nil }
        isAtStart = false
        return cursor.passValue()
    }
}

extension UInt8 {
    fileprivate var isHexDigit: Bool { self &- 0x30 < 10 || (self | 0x20) &- 0x61 < 6 }
}
