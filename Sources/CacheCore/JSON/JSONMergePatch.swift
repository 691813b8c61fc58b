/// JSON Merge Patch (RFC 7396).
package enum JSONMergePatch {
    /// The document with the patch applied. Numbers keep their text, members their place; new ones follow at the end in the
    /// order of the patch. A member that is replaced or removed takes others of its name with it.
    package static func apply(_ patch: JSONValue, to document: JSONValue?) -> JSONValue {
        guard case .object(let changes) = patch else { return patch }
        return .object(merge(changes, into: document?.members ?? []))
    }

    private static func merge(_ changes: [JSONMember], into members: [JSONMember]) -> [JSONMember] {
        var slots: [JSONMember?] = members
        var index = Dictionary<JSONName, Int>(minimumCapacity: members.count)
        // Where a name comes several times, each leads to the one before it.
        var earlier: [Int: Int] = [:]
        for (position, member) in members.enumerated() {
            if let before = index.updateValue(position, forKey: JSONName(member.name)) { earlier[position] = before }
        }
        for change in changes {
            let name = JSONName(change.name)
            if let position = index[name] {
                let current = slots[position]?.value
                var before = earlier.removeValue(forKey: position)
                while let other = before {
                    slots[other] = nil
                    before = earlier.removeValue(forKey: other)
                }
                slots[position] = nil
                if change.value.isNull {
                    index[name] = nil
                } else {
                    slots[position] = JSONMember(change.name, apply(change.value, to: current))
                }
            } else if !change.value.isNull {
                index[name] = slots.count
                slots.append(JSONMember(change.name, apply(change.value, to: nil)))
            }
        }
        return slots.compactMap(\.self)
    }
}
