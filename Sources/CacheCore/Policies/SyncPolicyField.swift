import HTTPModel

extension PolicyLayer {
    /// Reads the `Sync-Policy` field of a request: a structured dictionary (RFC 9651) with the policy fields in kebab case, as
    /// in `fetch-policy=FETCH_FROM_CACHE, expire-after=60`. Throws `bad-policy`, which names the field and what it takes.
    package init(syncPolicyField: String) throws(Problem) {
        guard let dictionary = SFDictionary(parsing: syncPolicyField) else {
            throw Problem(.badPolicy, Self.unreadable(syncPolicyField))
        }
        self.init()
        for entry in dictionary.entries {
            guard let field = PolicyField.allCases.first(where: { $0.kebabName == entry.name }) else {
                throw Problem(
                    .badPolicy,
                    "Sync-Policy has no field “\(entry.name)”. Fields: "
                        + PolicyField.allCases.map(\.kebabName).joined(separator: ", ") + ".")
            }
            guard let value = PolicyFieldValue(entry.member), set(field, to: value) else {
                throw Problem(
                    .badPolicy, "\(field.kebabName) in Sync-Policy has another value. Allowed: \(field.allowed).")
            }
        }
    }

    /// What to write instead: a name as JSON has it is the likeliest reason, since keys have no capitals (RFC 9651 3.2).
    private static func unreadable(_ text: String) -> String {
        let names = FieldList.split(text).map { $0.prefix { $0 != "=" && $0 != ";" }.trimmingFieldSpace }
        let named = PolicyField.allCases.first { $0.kebabName != $0.rawValue && names.contains($0.rawValue[...]) }
        if let named { return "Sync-Policy: write \(named.kebabName) in place of \(named.rawValue)." }
        return "Sync-Policy is no structured dictionary (RFC 9651), like "
            + "fetch-policy=FETCH_FROM_CACHE, expire-after=60, queue-on-status=(502 503)."
    }
}

extension PolicyFieldValue {
    fileprivate init?(_ member: SFMember) {
        switch member {
        case .item(let item):
            if let number = item.value.integer {
                self = .integer(number)
            } else if let flag = item.value.boolean {
                self = .bool(flag)
            } else if let text = item.value.text {
                self = .text(text)
            } else {
                return nil
            }
        case .innerList(let items, _):
            let numbers = items.compactMap { $0.value.integer.map { Int(clamping: $0) } }
            guard numbers.count == items.count else { return nil }
            self = .integers(numbers)
        }
    }
}
