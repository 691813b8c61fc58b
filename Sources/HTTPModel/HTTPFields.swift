/// One header field line. The name keeps the case it came with; the value is without surrounding space.
package struct HTTPField: Sendable, Hashable {
    package var name: String
    package var value: String

    package init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }
}

/// A field section in the order of its lines (RFC 9110 5). Names compare without regard to ASCII case.
package struct HTTPFields: Sendable, Hashable, RandomAccessCollection, MutableCollection,
    ExpressibleByDictionaryLiteral
{
    private var lines: [HTTPField]

    package init() { lines = [] }
    package init(_ lines: some Sequence<HTTPField>) { self.lines = Array(lines) }
    package init(dictionaryLiteral elements: (String, String)...) { lines = elements.map { HTTPField($0, $1) } }

    package var startIndex: Int { 0 }
    package var endIndex: Int { lines.count }
    package subscript(index: Int) -> HTTPField {
        get { lines[index] }
        set { lines[index] = newValue }
    }

    /// The value of the first line of that name. Setting replaces all lines of the name by one; nil removes them.
    package subscript(name: String) -> String? {
        get { lines.first { $0.name.equalsIgnoringASCIICase(name) }?.value }
        set {
            guard let newValue else {
                remove(name)
                return
            }
            guard let first = lines.firstIndex(where: { $0.name.equalsIgnoringASCIICase(name) }) else {
                lines.append(HTTPField(name, newValue))
                return
            }
            lines[first].value = newValue
            for index in stride(from: lines.count - 1, to: first, by: -1)
            where lines[index].name.equalsIgnoringASCIICase(name) {
                lines.remove(at: index)
            }
        }
    }

    package func contains(_ name: String) -> Bool { lines.contains { $0.name.equalsIgnoringASCIICase(name) } }

    /// The values of all lines of that name, in order.
    package func values(_ name: String) -> [String] {
        // Most are not there: nothing is allocated then.
        var found: [String] = []
        for line in lines where line.name.equalsIgnoringASCIICase(name) { found.append(line.value) }
        return found
    }

    /// All lines of the name as one list value, joined by ", " (RFC 9110 5.3); nil where there is none.
    package func combined(_ name: String) -> String? {
        let all = values(name)
        return all.isEmpty ? nil : all.count == 1 ? all[0] : all.joined(separator: ", ")
    }

    /// Makes room for so many lines in all.
    package mutating func reserveCapacity(_ count: Int) { lines.reserveCapacity(count) }

    package mutating func append(_ name: String, _ value: String) { lines.append(HTTPField(name, value)) }
    package mutating func append(contentsOf other: some Sequence<HTTPField>) { lines.append(contentsOf: other) }

    package mutating func remove(_ name: String) {
        removeAll { $0.name.equalsIgnoringASCIICase(name) }
    }

    package mutating func removeAll(where condition: (HTTPField) -> Bool) {
        // Mostly there is nothing to remove: lines that others hold too are not copied then.
        guard lines.contains(where: condition) else { return }
        lines.removeAll(where: condition)
    }
}
