package import HTTPModel

/// What an edit leaves in a JSON document: values at places, and places that are gone. A tree by the names of members, so that documents
/// of many members are judged in one pass.
package struct EditTrace: Sendable {
    private indirect enum Place: Sendable {
        case kept
        case set(JSONValue)
        case gone
        case within([JSONName: Place])
    }

    private enum Judged { case values, removals }

    private var root = Place.kept

    /// Whether the document shows the edit: all values that it set; for one that only removes, all it removed is gone. An edit that changed
    /// nothing leaves no trace, and so is never seen.
    package func isLeft(in document: JSONValue) -> Bool {
        if Self.has(.values, root) { return Self.isLeft(root, in: document, judging: .values) }
        return Self.has(.removals, root) && Self.isLeft(root, in: document, judging: .removals)
    }

    /// What a PUT or PATCH with that media type and JSON body leaves; nil where that can't be looked for. `base`: what a PUT replaces.
    package static func of(_ method: HTTPMethod, type: String?, sent: JSONValue, base: JSONValue?) -> EditTrace? {
        guard method == .patch else { return ofReplacement(sent, base: base) }
        return type.flatMap { MediaType($0) }?.essence == "application/json-patch+json"
            ? ofJSONPatch(sent) : ofMergePatch(sent)
    }

    /// Whether the body of an answer to an edit can be what the target is now: it is what was sent, or shows all of it. A mere word of
    /// what was done (`{"ok":true}`) has the same media type, and may stand beside the new tag (RFC 9110 8.8.3, 9.3.4).
    package static func isLeft(by method: HTTPMethod, type: String?, sent: [UInt8], in answer: [UInt8]) -> Bool {
        if method == .put, sent == answer { return true }
        guard let sent = try? JSONValue(parsing: sent), let answer = try? JSONValue(parsing: answer)
        else { return false }
        return of(method, type: type, sent: sent, base: nil)?.isLeft(in: answer) ?? false
    }

    /// A whole representation: what differs from the base; all of it where the base is not known.
    package static func ofReplacement(_ sent: JSONValue, base: JSONValue?) -> EditTrace {
        var trace = EditTrace()
        trace.root = comparison(sent, base)
        // A representation equal to its base sets every member to what it is.
        if case .kept = trace.root { trace.root = comparison(sent, nil) }
        return trace
    }

    /// A merge patch (RFC 7396): null removes.
    package static func ofMergePatch(_ patch: JSONValue) -> EditTrace {
        var trace = EditTrace()
        trace.root = merge(patch)
        return trace
    }

    /// A JSON patch (RFC 6902): the last value set at each place. nil where an operation leaves nothing that can be looked
    /// for (an index that later ones move, copy, move).
    package static func ofJSONPatch(_ patch: JSONValue) -> EditTrace? {
        guard let steps = patch.array else { return nil }
        var trace = EditTrace()
        for step in steps {
            guard let place = step["path"]?.string.flatMap({ JSONPointer($0) }) else { return nil }
            let isIndexed = place.tokens.contains { $0 == "-" || Int($0) != nil }
            switch step["op"]?.string {
            case "test": continue
            case "add", "replace":
                guard let value = step["value"], !isIndexed else { return nil }
                put(.set(value), at: place.tokens[...], of: &trace.root)
            case "remove":
                guard !isIndexed else { return nil }
                put(.gone, at: place.tokens[...], of: &trace.root)
            default: return nil
            }
        }
        return trace
    }

    private static func comparison(_ sent: JSONValue, _ base: JSONValue?) -> Place {
        guard let members = sent.members, !members.isEmpty, base?.isObject ?? true else {
            return base.map { sent.isEquivalent(to: $0) } == true ? .kept : .set(sent)
        }
        let (after, before) = (JSONMembers(members), JSONMembers(base?.members ?? []))
        var changed: [JSONName: Place] = [:]
        for (name, value) in after {
            let place = comparison(value, before[name])
            if case .kept = place { continue }
            changed[JSONName(name)] = place
        }
        for (name, _) in before where after[name] == nil { changed[JSONName(name)] = .gone }
        return changed.isEmpty ? .kept : .within(changed)
    }

    private static func merge(_ patch: JSONValue) -> Place {
        if patch.isNull { return .gone }
        guard let members = patch.members, !members.isEmpty else { return .set(patch) }
        var changed: [JSONName: Place] = [:]
        for (name, value) in JSONMembers(members) { changed[JSONName(name)] = merge(value) }
        return .within(changed)
    }

    private static func put(_ new: Place, at tokens: ArraySlice<String>, of place: inout Place) {
        guard let token = tokens.first else {
            place = new
            return
        }
        if case .set(var value) = place {
            // Within what was set before, which is one value.
            let rest = JSONPointer(tokens: Array(tokens))
            if case .set(let inner) = new { _ = rest.set(inner, in: &value) } else { _ = rest.remove(from: &value) }
            place = .set(value)
            return
        }
        var children: [JSONName: Place] = [:]
        if case .within(let present) = place { children = present }
        place = .kept  // so that the dictionary is not shared while it changes
        put(new, at: tokens.dropFirst(), of: &children[JSONName(token), default: .kept])
        place = .within(children)
    }

    private static func has(_ judged: Judged, _ place: Place) -> Bool {
        switch place {
        case .kept: false
        case .set: judged == .values
        case .gone: judged == .removals
        case .within(let children): children.values.contains { has(judged, $0) }
        }
    }

    private static func isLeft(_ place: Place, in value: JSONValue?, judging judged: Judged) -> Bool {
        switch place {
        case .kept: return true
        case .set(let sent): return judged == .removals || value.map { sent.isEquivalent(to: $0) } ?? false
        case .gone: return judged == .values || value == nil
        case .within(let children):
            let members = value?.members.map { JSONMembers($0) }
            return children.allSatisfy { isLeft($1, in: members?[$0.text], judging: judged) }
        }
    }
}
