extension PolicyLayer {
    /// Reads an object of policy fields. Numbers and booleans may be strings, as in the SDK's property list. Throws
    /// `bad-policy`, which names the field and what it takes.
    package init(json: JSONValue) throws(Problem) {
        guard let members = json.members else {
            throw Problem(.badPolicy, "A policy is a JSON object of fields.")
        }
        self.init()
        for member in members { try read(member) }
    }

    /// The fields that are set.
    package func json() -> JSONValue {
        .object(
            PolicyField.allCases.compactMap { field in
                value(of: field).map { JSONMember(field.rawValue, $0.json) }
            })
    }

    mutating func read(_ member: JSONMember) throws(Problem) {
        guard let field = PolicyField(rawValue: member.name) else {
            throw Problem(
                .badPolicy,
                "“\(member.name)” is no policy field. Fields: "
                    + PolicyField.allCases.map(\.rawValue).joined(separator: ", ") + ".")
        }
        guard let value = PolicyFieldValue(member.value), set(field, to: value) else {
            throw Problem(.badPolicy, "\(field.rawValue) can't be \(member.value). Allowed: \(field.allowed).")
        }
    }
}

extension PolicyTable {
    /// Reads policies by path, in order of precedence: an array of objects with `path` and policy fields, and the default as
    /// one object. `json` may also be the object that `json()` gives, `{"policies":[…],"defaultPolicy":{…}}`. Throws
    /// `bad-policy`.
    package init(json: JSONValue, defaultJSON: JSONValue?) throws(Problem) {
        self.init()
        if json.isObject {
            for member in json.members ?? [] where member.name != "policies" && member.name != "defaultPolicy" {
                throw Problem(.badPolicy, "“\(member.name)” is unknown here. Allowed: policies, defaultPolicy.")
            }
        }
        if let value = defaultJSON ?? json["defaultPolicy"], !value.isNull {
            defaultLayer = try PolicyLayer(json: value)
        }
        let list: JSONValue = json.isObject ? json["policies"] ?? [] : json
        guard let elements = list.isNull ? [] : list.array else {
            throw Problem(.badPolicy, "policies is a JSON array of objects, each with path and policy fields.")
        }
        for element in elements { rules.append(try Rule(json: element)) }
    }

    /// `{"policies":[{"path":…, …}],"defaultPolicy":{…}}`.
    package func json() -> JSONValue {
        let policies = rules.map { rule in
            JSONValue.object([JSONMember("path", .string(rule.pattern.text))] + (rule.layer.json().members ?? []))
        }
        return .object(["policies": .array(policies), "defaultPolicy": defaultLayer.json()])
    }
}

extension PolicyTable.Rule {
    init(json: JSONValue) throws(Problem) {
        guard let members = json.members, let path = json["path"]?.string, !path.isEmpty else {
            throw Problem(.badPolicy, "Each of policies is an object with a path, like {\"path\":\"/items/**\", …}.")
        }
        self.init(pattern: PathPattern(path), layer: PolicyLayer())
        guard pattern.isWellFormed else { throw Problem(.badPolicy, "\(path): \(PathPattern.rules).") }
        for member in members where member.name != "path" { try layer.read(member) }
    }
}

extension PolicyFieldValue {
    init?(_ json: JSONValue) {
        switch json {
        case .string(let text): self = .text(text)
        case .bool(let flag): self = .bool(flag)
        case .number:
            guard let number = json.int else { return nil }
            self = .integer(Int64(number))
        case .array(let elements):
            let numbers = elements.compactMap { $0.int ?? $0.string.flatMap { Int($0) } }
            guard numbers.count == elements.count else { return nil }
            self = .integers(numbers)
        case .null, .object: return nil
        }
    }

    var json: JSONValue {
        switch self {
        case .text(let text): .string(text)
        case .bool(let flag): .bool(flag)
        case .integer(let number): JSONValue(number)
        case .integers(let numbers): .array(numbers.map { JSONValue($0) })
        }
    }
}
