import CacheCore
import HTTPModel

/// JSON and JSON pointers: the tree, and the walker over its text, understand the same.
func judgeJSON(_ bytes: [UInt8]) {
    let whole = JSONCursor.whole(bytes)
    guard let value = try? JSONValue(parsing: bytes) else { return }
    guard let whole else { return hold(false, "the walker takes what is JSON") }
    let written = value.bytes
    hold((try? JSONValue(parsing: written)) == value, "JSON reads what it writes")
    hold(value.isEquivalent(to: value), "JSON means itself")
    hold(JSONDifference.pointers(between: value, value).isEmpty, "JSON does not differ from itself")
    for place in places(in: value, at: JSONPointer(), depth: 0) {
        hold(JSONPointer(place.text)?.tokens == place.tokens, "a pointer reads what it writes")
        guard let found = place.value(in: value) else { return hold(false, "a pointer leads to what is there") }
        guard let range = JSONCursor.find(place, in: bytes, at: whole) else {
            return hold(false, "the walker finds what is there")
        }
        hold((try? JSONValue(parsing: Array(bytes[range]))) == found, "the walker finds the same")
    }
    let text = String(decoding: bytes, as: UTF8.self)
    if let pointer = JSONPointer(text) { hold(pointer.text == text, "a pointer writes what it read") }
    if let number = JSONDecimal(text) { hold(!(number < number), "a number is not below itself") }
}

/// The first pointers into a value, by the last member of each name.
private func places(in value: JSONValue, at place: JSONPointer, depth: Int) -> [JSONPointer] {
    guard depth < 4 else { return [place] }
    var found = [place]
    switch value {
    case .object(let members):
        for member in members.prefix(4) {
            guard let last = value[member.name] else { continue }
            found += places(in: last, at: place.appending(member.name), depth: depth + 1)
        }
    case .array(let elements):
        for (index, element) in elements.prefix(4).enumerated() {
            found += places(in: element, at: place.appending(String(index)), depth: depth + 1)
        }
    default: break
    }
    return found
}

/// A document and a patch for it, one JSON text each, with a line break between: both kinds of patches.
func judgePatches(_ bytes: [UInt8]) {
    let parts = bytes.split(separator: 10, maxSplits: 1).map { Array($0) }
    guard parts.count == 2, let document = try? JSONValue(parsing: parts[0]),
        let patch = try? JSONValue(parsing: parts[1])
    else { return }
    let merged = JSONMergePatch.apply(patch, to: document)
    hold(JSONMergePatch.apply(patch, to: merged).isEquivalent(to: merged), "a merge patch changes nothing twice")
    guard let steps = try? JSONPatch(patch), let patched = try? steps.apply(to: document, stepLimit: 100_000) else {
        return
    }
    hold((try? JSONValue(parsing: patched.bytes)) == patched, "what a patch makes can be read")
}

/// Lines of a snapshot; the digest that guards them is replaced, so that what lies behind is reached.
func judgeSnapshot(_ bytes: [UInt8]) {
    let digest = { (_: [UInt8]) in Digest(bytes: [UInt8](repeating: 0, count: 32)) }
    for (number, line) in bytes.split(separator: 10).prefix(8).enumerated() {
        let checked = Array(line) + Array(",\"check\":\"0000000000000000\"}".utf8)
        guard let read = try? SnapshotLine(checked, number: number, digest) else { continue }
        let written = Array(read.bytes(digest).dropLast())
        guard let again = try? SnapshotLine(written, number: number, digest) else {
            return hold(false, "a line can be read as it is written")
        }
        hold(again.bytes(digest).dropLast().elementsEqual(written), "a line reads what it writes")
        if case .entry(let entry, _) = read {
            hold(!entry.key.target.text.utf8.contains { $0 <= 0x20 || $0 == 0x7F }, "a target fits a request line")
        }
    }
}

/// A list of members as an origin sends it, with what clients ask of it and change in it.
func judgeLists(_ bytes: [UInt8]) {
    let parts = bytes.split(separator: 10, maxSplits: 2, omittingEmptySubsequences: false).map { Array($0) }
    if parts.count == 3 {
        _ = try? MemberQuery(filter: String(fieldBytes: parts[1]), sort: String(fieldBytes: parts[2]))
    }
    let target = Target(unchecked: "/items")
    guard let list = ListDocument(parts[0], at: target, rule: .byDefault, originBase: "http://origin.test/api") else {
        return
    }
    for member in list.members {
        hold(member.value.lowerBound >= 0 && member.value.upperBound <= parts[0].count, "a member lies in its list")
        guard let text = member.target?.text else { continue }
        let parsed = try? ParsedTarget.parse(
            rawTarget: "/resources" + text, method: .get, fields: HTTPFields(), reservedParameters: false)
        hold(parsed?.target.text == text, "a client can ask for each member")
    }
}
