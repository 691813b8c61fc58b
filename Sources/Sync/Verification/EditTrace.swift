package import CacheCore

/// What an edit leaves in a JSON document: values at places, and places that are gone.
package struct EditTrace: Sendable, Hashable {
    package var values: [JSONPointer: JSONValue] = [:]
    package var removed: [JSONPointer] = []

    package init() {}

    /// Whether the document shows the edit: all values that it set; for one that only removes, all it removed is gone. An edit that changed
    /// nothing leaves no trace, and so is never seen.
    package func isLeft(in document: JSONValue) -> Bool {
        if values.isEmpty {
            return !removed.isEmpty && removed.allSatisfy { $0.value(in: document) == nil }
        }
        return values.allSatisfy { place, value in
            place.value(in: document).map { value.isEquivalent(to: $0) } ?? false
        }
    }

    /// A whole representation: what differs from the base; all of it where the base is not known.
    package static func ofReplacement(_ sent: JSONValue, base: JSONValue?) -> EditTrace {
        var trace = EditTrace()
        trace.compare(sent, base, at: JSONPointer())
        // A representation equal to its base sets every member to what it is.
        if trace.values.isEmpty && trace.removed.isEmpty { trace.compare(sent, nil, at: JSONPointer()) }
        return trace
    }

    /// A merge patch (RFC 7396): null removes.
    package static func ofMergePatch(_ patch: JSONValue) -> EditTrace {
        var trace = EditTrace()
        trace.merge(patch, at: JSONPointer())
        return trace
    }

    /// A JSON patch (RFC 6902): the last value set at each place. nil where an operation leaves nothing that can be looked
    /// for (an index that later ones move, copy, move).
    package static func ofJSONPatch(_ patch: JSONValue) -> EditTrace? {
        guard let steps = patch.array else { return nil }
        var trace = EditTrace()
        for step in steps {
            guard let place = step["path"]?.string.flatMap({ JSONPointer($0) }) else { return nil }
            switch step["op"]?.string {
            case "test": continue
            case "add", "replace":
                guard let value = step["value"], !place.tokens.contains(where: { $0 == "-" || Int($0) != nil }) else {
                    return nil
                }
                trace.forget(under: place)
                trace.values[place] = value
            case "remove":
                guard !place.tokens.contains(where: { Int($0) != nil }) else { return nil }
                trace.forget(under: place)
                trace.removed.append(place)
            default: return nil
            }
        }
        return trace
    }

    private mutating func compare(_ sent: JSONValue, _ base: JSONValue?, at place: JSONPointer) {
        guard let members = sent.members, !members.isEmpty else {
            if base.map({ sent.isEquivalent(to: $0) }) != true { values[place] = sent }
            return
        }
        guard base?.isObject ?? true else {
            values[place] = sent
            return
        }
        for member in members { compare(member.value, base?[member.name], at: place.appending(member.name)) }
        for member in base?.members ?? [] where sent[member.name] == nil {
            removed.append(place.appending(member.name))
        }
    }

    private mutating func merge(_ patch: JSONValue, at place: JSONPointer) {
        if patch.isNull {
            removed.append(place)
        } else if let members = patch.members, !members.isEmpty {
            for member in members { merge(member.value, at: place.appending(member.name)) }
        } else {
            values[place] = patch
        }
    }

    private mutating func forget(under place: JSONPointer) {
        let isUnder = { (other: JSONPointer) in other.tokens.starts(with: place.tokens) }
        values = values.filter { !isUnder($0.key) }
        removed.removeAll(where: isUnder)
    }
}
