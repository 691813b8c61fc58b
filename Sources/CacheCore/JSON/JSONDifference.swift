/// Where two documents differ.
package enum JSONDifference {
    /// Pointers to the deepest values that differ in meaning (see `JSONValue.isEquivalent`), or that only one of the two has.
    /// Members first in the order of `first`, then those that only `second` has; elements by index. Empty where both are
    /// equivalent; the pointer of the whole document is the empty text.
    package static func pointers(between first: JSONValue, _ second: JSONValue) -> [String] {
        var found: [String] = []
        compare(first, second, at: JSONPointer(), into: &found)
        return found
    }

    private static func compare(
        _ first: JSONValue, _ second: JSONValue, at place: JSONPointer, into found: inout [String]
    ) {
        switch (first, second) {
        case (.object(let a), .object(let b)):
            let (left, right) = (JSONMembers(a), JSONMembers(b))
            for (name, value) in left {
                if let other = right[name] {
                    compare(value, other, at: place.appending(name), into: &found)
                } else {
                    found.append(place.appending(name).text)
                }
            }
            for (name, _) in right where left[name] == nil { found.append(place.appending(name).text) }
        case (.array(let a), .array(let b)):
            for index in 0..<max(a.count, b.count) {
                let deeper = place.appending(String(index))
                if index < a.count, index < b.count {
                    compare(a[index], b[index], at: deeper, into: &found)
                } else {
                    found.append(deeper.text)
                }
            }
        default:
            if !first.isEquivalent(to: second) { found.append(place.text) }
        }
    }
}
