/// Appends JSON piece by piece, without building values first. The caller keeps the grammar: a key before each value of an
/// object, every begin with its end. Commas come by themselves.
package struct JSONWriter: Sendable {
    /// What is written so far.
    package private(set) var bytes: [UInt8] = []
    private var needsComma = false

    package init(capacity: Int = 256) { bytes.reserveCapacity(capacity) }

    package mutating func beginObject() { begin(UInt8(ascii: "{")) }
    package mutating func endObject() { end(UInt8(ascii: "}")) }
    package mutating func beginArray() { begin(UInt8(ascii: "[")) }
    package mutating func endArray() { end(UInt8(ascii: "]")) }

    /// The name of the member whose value follows.
    package mutating func key(_ name: String) {
        separate()
        JSONText.writeQuoted(name, into: &bytes)
        bytes.append(UInt8(ascii: ":"))
        needsComma = false
    }

    package mutating func string(_ text: String) {
        separate()
        JSONText.writeQuoted(text, into: &bytes)
    }

    package mutating func int(_ number: some BinaryInteger) {
        separate()
        bytes.append(contentsOf: String(number).utf8)
    }

    /// Infinity and NaN are written as null.
    package mutating func double(_ number: Double) { value(JSONValue(number)) }

    package mutating func bool(_ flag: Bool) {
        separate()
        bytes.append(contentsOf: (flag ? "true" : "false").utf8)
    }

    package mutating func null() {
        separate()
        bytes.append(contentsOf: "null".utf8)
    }

    package mutating func value(_ value: JSONValue) {
        separate()
        value.write(into: &bytes)
    }

    /// JSON that is written already; not checked.
    package mutating func raw(_ json: some Sequence<UInt8>) {
        separate()
        bytes.append(contentsOf: json)
    }

    /// A member with a string; nothing where it is nil.
    package mutating func member(_ name: String, _ text: String?) {
        guard let text else { return }
        key(name)
        string(text)
    }

    /// A member with a whole number; nothing where it is nil.
    package mutating func member(_ name: String, _ number: Int?) {
        guard let number else { return }
        key(name)
        int(number)
    }

    /// A member with a flag; nothing where it is nil.
    package mutating func member(_ name: String, _ flag: Bool?) {
        guard let flag else { return }
        key(name)
        bool(flag)
    }

    /// A member with any value; nothing where it is nil.
    package mutating func member(_ name: String, _ json: JSONValue?) {
        guard let json else { return }
        key(name)
        value(json)
    }

    /// Forgets what is written and keeps the memory, for the next text.
    package mutating func reset() {
        bytes.removeAll(keepingCapacity: true)
        needsComma = false
    }

    private mutating func separate() {
        if needsComma { bytes.append(UInt8(ascii: ",")) }
        needsComma = true
    }

    private mutating func begin(_ byte: UInt8) {
        separate()
        bytes.append(byte)
        needsComma = false
    }

    private mutating func end(_ byte: UInt8) {
        bytes.append(byte)
        needsComma = true
    }
}
