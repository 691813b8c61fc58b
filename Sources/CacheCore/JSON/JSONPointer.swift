/// A JSON Pointer (RFC 6901): the way from a document to one value in it.
package struct JSONPointer: Sendable, Hashable, CustomStringConvertible {
    /// The reference tokens, unescaped. Empty for the whole document.
    package var tokens: [String]

    package init(tokens: [String] = []) { self.tokens = tokens }

    /// Reads the text form: empty, or tokens each behind `/`, with `~1` for `/` and `~0` for `~`. nil for all else.
    package init?(_ text: String) {
        guard !text.isEmpty else {
            tokens = []
            return
        }
        guard text.utf8.first == UInt8(ascii: "/") else { return nil }
        tokens = []
        for part in text.utf8.dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false) {
            guard let token = Self.unescape(part) else { return nil }
            tokens.append(token)
        }
    }

    private static func unescape(_ part: Substring.UTF8View) -> String? {
        guard part.contains(UInt8(ascii: "~")) else { return String(Substring(part)) }
        var bytes: [UInt8] = []
        var rest = part
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "~") else {
                bytes.append(byte)
                continue
            }
            switch rest.popFirst() {
            case UInt8(ascii: "0"): bytes.append(UInt8(ascii: "~"))
            case UInt8(ascii: "1"): bytes.append(UInt8(ascii: "/"))
            default: return nil
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The text form.
    package var text: String {
        var bytes: [UInt8] = []
        for token in tokens {
            bytes.append(UInt8(ascii: "/"))
            for byte in token.utf8 {
                switch byte {
                case UInt8(ascii: "~"): bytes.append(contentsOf: "~0".utf8)
                case UInt8(ascii: "/"): bytes.append(contentsOf: "~1".utf8)
                default: bytes.append(byte)
                }
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    package var description: String { text }

    /// The pointer one step deeper.
    package func appending(_ token: String) -> JSONPointer { JSONPointer(tokens: tokens + [token]) }

    /// The value it points at; nil where there is none.
    package func value(in document: JSONValue) -> JSONValue? {
        var value = document
        for token in tokens {
            switch value {
            case .object:
                guard let next = value[token] else { return nil }
                value = next
            case .array(let elements):
                guard let index = Self.index(token), index < elements.count else { return nil }
                value = elements[index]
            default: return nil
            }
        }
        return value
    }

    /// Puts the value there: replaces a member or element, adds a member to an object, or appends to an array where the last
    /// token is `-` or the array's count. False, with the document unchanged, where the parent is not there.
    package func set(_ newValue: JSONValue, in document: inout JSONValue) -> Bool {
        Self.change(&document, tokens[...]) { parent, token in
            guard let token else {
                parent = newValue
                return true
            }
            switch parent {
            case .object:
                parent[token] = newValue
                return true
            case .array(var elements):
                let index = token == "-" ? elements.count : Self.index(token)
                guard let index, index <= elements.count else { return false }
                parent = .null
                if index == elements.count { elements.append(newValue) } else { elements[index] = newValue }
                parent = .array(elements)
                return true
            default: return false
            }
        }
    }

    /// Takes the value out and returns it; elements behind it move up. nil, with the document unchanged, where there is none.
    /// The whole document becomes null.
    package func remove(from document: inout JSONValue) -> JSONValue? {
        var removed: JSONValue?
        _ = Self.change(&document, tokens[...]) { parent, token in
            guard let token else {
                removed = parent
                parent = .null
                return true
            }
            switch parent {
            case .object:
                removed = parent[token]
                if removed != nil { parent[token] = nil }
            case .array(var elements):
                guard let index = Self.index(token), index < elements.count else { return false }
                parent = .null
                removed = elements.remove(at: index)
                parent = .array(elements)
            default: return false
            }
            return true
        }
        return removed
    }

    /// Puts an element before the one at the last token's index (RFC 6902 4.1), or a member as `set` does.
    package func insert(_ newValue: JSONValue, in document: inout JSONValue) -> Bool {
        guard let last = tokens.last else { return set(newValue, in: &document) }
        return Self.change(&document, tokens[...]) { parent, _ in
            switch parent {
            case .object:
                parent[last] = newValue
                return true
            case .array(var elements):
                let index = last == "-" ? elements.count : Self.index(last)
                guard let index, index <= elements.count else { return false }
                parent = .null
                elements.insert(newValue, at: index)
                parent = .array(elements)
                return true
            default: return false
            }
        }
    }

    /// Walks to the parent of the value pointed at and lets `body` change it in place; `body` gets the last token, or nil for
    /// the whole document. False where the way ends early.
    private static func change(
        _ value: inout JSONValue, _ tokens: ArraySlice<String>, _ body: (inout JSONValue, String?) -> Bool
    ) -> Bool {
        guard let token = tokens.first, tokens.count > 1 else { return body(&value, tokens.first) }
        switch value {
        case .object(var members):
            guard let index = members.lastIndex(where: { $0.name.isSameText(as: token) }) else { return false }
            value = .null
            let isDone = change(&members[index].value, tokens.dropFirst(), body)
            value = .object(members)
            return isDone
        case .array(var elements):
            guard let index = index(token), index < elements.count else { return false }
            value = .null
            let isDone = change(&elements[index], tokens.dropFirst(), body)
            value = .array(elements)
            return isDone
        default: return false
        }
    }

    /// An array index: digits without a leading zero (RFC 6901 4).
    private static func index(_ token: String) -> Int? {
        let bytes = token.utf8
        guard let first = bytes.first, first != 0x30 || bytes.count == 1,
            bytes.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 })
        else { return nil }
        return Int(token)
    }
}
