import HTTPModel

extension PolicyLayer {
    /// Reads the `Sync-Policy` field of a request: a structured dictionary (RFC 9651) with the policy fields in kebab case, as
    /// in `fetch-policy=FETCH_FROM_CACHE, expire-after=60`. Throws `bad-policy`, which names the field and what it takes.
    package init(syncPolicyField: String) throws(Problem) {
        guard let dictionary = SFDictionary(parsing: syncPolicyField) else {
            throw Problem(
                .badPolicy,
                "Sync-Policy is no structured dictionary (RFC 9651), like fetch-policy=FETCH_FROM_CACHE, expire-after=60."
            )
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
