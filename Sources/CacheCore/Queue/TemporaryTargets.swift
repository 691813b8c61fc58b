import HTTPModel

/// The names that creates have until they are delivered: collection, `/`, `hf-` and 26 characters (design 5).
package enum TemporaryTarget {
    private static let marker = Array("hf-".utf8)
    /// `hf-` and 26 digits of base 32.
    private static let length = 29
    private static let slash = UInt8(ascii: "/")

    /// A quick look, to spare texts that name none.
    package static func mayOccur(in text: some StringProtocol) -> Bool { mayOccur(in: Array(text.utf8)) }

    package static func mayOccur(in bytes: [UInt8]) -> Bool {
        guard bytes.count >= length else { return false }
        return (0...(bytes.count - length)).contains { bytes[$0] == marker[0] && isID(bytes[$0..<($0 + length)]) }
    }

    /// Every id in the text, in order, each once.
    static func ids(in text: String) -> [String] {
        guard text.utf8.count >= length else { return [] }
        let bytes = Array(text.utf8)
        var found: [String] = []
        var index = 0
        while index + length <= bytes.count {
            let piece = bytes[index..<(index + length)]
            if isID(piece), isBoundary(bytes, at: index + length), index == 0 || isBoundary(bytes, at: index - 1) {
                let id = String(decoding: piece, as: UTF8.self)
                if !found.contains(id) { found.append(id) }
                index += length
            } else {
                index += 1
            }
        }
        return found
    }

    /// The id of a temporary target: its last segment.
    static func id(of target: Target) -> String? {
        lastID(in: target.path.utf8[...]).map { String(Substring($0)) }
    }

    /// Whether the last segment of the target is an id, slashes at its end aside.
    package static func matches(_ target: Target) -> Bool {
        var path = target.path.utf8[...]
        while path.last == slash { path.removeLast() }
        return lastID(in: path) != nil
    }

    private static func lastID(in path: Substring.UTF8View) -> Substring.UTF8View? {
        let segment = path.suffix(length)
        guard segment.count == length, isID(segment), path.dropLast(length).last ?? slash == slash else { return nil }
        return segment
    }

    /// The start of the text up to and with the path segment that is the id.
    static func prefix(of text: String, endingWith id: String) -> String? {
        let path = text.utf8.prefix { $0 != UInt8(ascii: "?") }
        var end = path.startIndex
        for segment in path.split(separator: slash, omittingEmptySubsequences: false) {
            end = segment.endIndex
            if segment.elementsEqual(id.utf8) { return String(Substring(path[..<end])) }
        }
        return nil
    }

    /// The text with every occurrence of `part` that stands alone (no letter, digit or `-` beside it) replaced.
    static func replacing(_ part: String, in text: String, with new: String, boundBefore: Bool) -> String {
        let bytes = Array(text.utf8)
        let part = Array(part.utf8)
        guard !part.isEmpty, bytes.count >= part.count else { return text }
        var result: [UInt8] = []
        var index = 0
        var didChange = false
        while index < bytes.count {
            let end = index + part.count
            if bytes[index] == part[0], end <= bytes.count, bytes[index..<end].elementsEqual(part),
                isBoundary(bytes, at: end), !boundBefore || index == 0 || isBoundary(bytes, at: index - 1)
            {
                result += new.utf8
                index = end
                didChange = true
            } else {
                result.append(bytes[index])
                index += 1
            }
        }
        return didChange ? String(decoding: result, as: UTF8.self) : text
    }

    private static func isID(_ bytes: some Collection<UInt8>) -> Bool {
        bytes.prefix(3).elementsEqual(marker)
            && bytes.dropFirst(3).allSatisfy { $0.isDigit || ($0 >= UInt8(ascii: "A") && $0 <= UInt8(ascii: "Z")) }
    }

    private static func isBoundary(_ bytes: [UInt8], at index: Int) -> Bool {
        guard index < bytes.count else { return true }
        let byte = bytes[index].asciiLowercased
        return !(byte.isDigit || (byte >= UInt8(ascii: "a") && byte <= UInt8(ascii: "z")) || byte == UInt8(ascii: "-"))
    }
}

/// What a temporary target became: how texts that name it are rewritten (design 5, "Temporary targets").
struct Renaming: Sendable {
    var temporary: Target
    var real: Target
    /// The real id as it stands in JSON; nil: the last segment of the real target, as a string.
    var jsonID: JSONValue?

    private var id: String { TemporaryTarget.id(of: temporary) ?? temporary.text }
    private var realID: String {
        let segments = real.path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        return segments.last.map { String(Substring($0)) } ?? ""
    }

    /// The whole target, or path segments and parameter values that are the id alone.
    func rewrite(_ target: Target) -> Target {
        Target(unchecked: rewriteText(target.text))
    }

    /// A header field's value.
    func rewriteText(_ text: String) -> String {
        let moved = TemporaryTarget.replacing(temporary.text, in: text, with: real.text, boundBefore: false)
        return TemporaryTarget.replacing(id, in: moved, with: realID, boundBefore: true)
    }

    /// Every string of the value that holds the whole target or is the id alone. True where something changed.
    func rewrite(_ value: inout JSONValue) -> Bool {
        switch value {
        case .string(let text):
            if text == id {
                value = jsonID ?? .string(realID)
                return true
            }
            let moved = TemporaryTarget.replacing(temporary.text, in: text, with: real.text, boundBefore: false)
            guard moved != text else { return false }
            value = .string(moved)
            return true
        case .array(var elements):
            var didChange = false
            for index in elements.indices where rewrite(&elements[index]) { didChange = true }
            if didChange { value = .array(elements) }
            return didChange
        case .object(var members):
            var didChange = false
            for index in members.indices where rewrite(&members[index].value) { didChange = true }
            if didChange { value = .object(members) }
            return didChange
        default: return false
        }
    }
}
