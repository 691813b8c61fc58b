import HTTPModel

/// What a document at the origin links to, where a JSON pointer finds the links.
package enum LinkedTargets {
    /// Targets under the origin's base, each once, in the document's order. The pointer names a string or an array of them; a token
    /// `*` stands for all elements of an array, or all members of an object that has none of that name.
    package static func find(
        _ pointer: JSONPointer, in document: JSONValue, at target: Target, originBase: String
    ) -> [Target] {
        var seen: Set<Target> = []
        return values(pointer.tokens[...], in: document)
            .flatMap { value in value.array ?? [value] }
            .compactMap { $0.string.flatMap { resolve($0, at: target, originBase) } }
            .filter { seen.insert($0).inserted }
    }

    private static func values(_ tokens: ArraySlice<String>, in value: JSONValue) -> [JSONValue] {
        guard let token = tokens.first else { return [value] }
        let rest = tokens.dropFirst()
        if let found = JSONPointer(tokens: [token]).value(in: value) { return values(rest, in: found) }
        guard token == "*" else { return [] }
        let all = value.array ?? value.members?.map(\.value) ?? []
        return all.flatMap { values(rest, in: $0) }
    }

    /// As a link of a page; a path that does not lie under the base is taken as one there.
    private static func resolve(_ reference: String, at target: Target, _ base: String) -> Target? {
        target.resolving(reference, under: base)
            ?? (reference.utf8.first == UInt8(ascii: "/") ? ListDocument.target(ofURI: reference, under: base) : nil)
    }
}
