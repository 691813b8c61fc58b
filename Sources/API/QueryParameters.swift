/// The parameters of a query, percent-decoded, `+` as a space (as forms send them), in order.
package struct QueryParameters: Sendable, Hashable {
    package private(set) var items: [(name: String, value: String)]

    /// Takes the text after the `?`; nil and "" give none. A `%` that no two digits follow stays as it is.
    package init(_ query: (some StringProtocol)?) {
        items = []
        guard let query else { return }
        for pair in query.utf8.split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: true) {
            let mark = pair.firstIndex(of: UInt8(ascii: "=")) ?? pair.endIndex
            let value = mark == pair.endIndex ? pair[mark...] : pair[pair.index(after: mark)...]
            items.append((Self.decoded(pair[..<mark]), Self.decoded(value)))
        }
    }

    /// The first value of that name.
    package subscript(name: String) -> String? { items.first { $0.name == name }?.value }

    /// Every value of that name, in order.
    package func values(_ name: String) -> [String] { items.filter { $0.name == name }.map(\.value) }

    package static func == (one: QueryParameters, other: QueryParameters) -> Bool {
        one.items.elementsEqual(other.items) { $0.name == $1.name && $0.value == $1.value }
    }

    package func hash(into hasher: inout Hasher) {
        for item in items {
            hasher.combine(item.name)
            hasher.combine(item.value)
        }
    }

    private static func decoded(_ text: some Collection<UInt8>) -> String {
        var bytes: [UInt8] = []
        let all = Array(text)
        var index = 0
        while index < all.count {
            if all[index] == UInt8(ascii: "%"), index + 2 < all.count, let high = hexValue(all[index + 1]),
                let low = hexValue(all[index + 2])
            {
                bytes.append(high << 4 | low)
                index += 3
            } else {
                bytes.append(all[index] == UInt8(ascii: "+") ? UInt8(ascii: " ") : all[index])
                index += 1
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func hexValue(_ byte: UInt8) -> UInt8? {
        switch byte {
        case 0x30...0x39: byte - 0x30
        case 0x41...0x46: byte - 0x37
        case 0x61...0x66: byte - 0x57
        default: nil
        }
    }
}
