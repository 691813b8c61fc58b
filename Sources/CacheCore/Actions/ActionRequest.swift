/// What an action can be asked to do.
package enum ActionType: String, Sendable, Hashable, CaseIterable { case refresh, save }

/// What one action is asked to do, as POST /cache/actions takes it.
package enum ActionRequest: Sendable, Hashable {
    /// Asks the origin for every entry whose path the pattern covers.
    case refresh(PathPattern)
    /// Saves the cached copies, as the mode has it.
    case save

    package var type: ActionType {
        switch self {
        case .refresh: .refresh
        case .save: .save
        }
    }

    /// Whether it asks the origin, and waits while that is away.
    package var needsOrigin: Bool {
        switch self {
        case .refresh: true
        case .save: false
        }
    }

    /// Whether it works on whole stores, for which a full token is needed, and not on entries of the caller's.
    package var isOfStores: Bool { !needsOrigin }

    // MARK: JSON

    /// Reads what a client sends; throws `bad-json`, which names the member.
    package init(json: JSONValue) throws {
        guard json.isObject else { throw Self.refusal("it is a JSON object with a type") }
        guard let type = json["type"]?.string.flatMap({ ActionType(rawValue: $0) }) else {
            throw Self.refusal("type is one of \(ActionType.allCases.map(\.rawValue).joined(separator: ", "))")
        }
        switch type {
        case .refresh:
            try Self.allow(["pattern"], in: json)
            self = .refresh(try Self.pattern(json))
        case .save:
            try Self.allow([], in: json)
            self = .save
        }
    }

    package func json() -> JSONValue {
        var json: JSONValue = .object(["type": .string(type.rawValue)])
        switch self {
        case .refresh(let pattern): json["pattern"] = .string(pattern.text)
        case .save: break
        }
        return json
    }

    private static func allow(_ names: [String], in json: JSONValue) throws {
        for member in json.members ?? [] where member.name != "type" && !names.contains(member.name) {
            let allowed = ["type"] + names
            throw refusal("\(member.name) is unknown here; allowed: \(allowed.joined(separator: ", "))")
        }
    }

    private static func pattern(_ json: JSONValue) throws -> PathPattern {
        guard let value = json["pattern"] else { return PathPattern("/**") }
        guard let text = value.string, text.utf8.first == UInt8(ascii: "/") else {
            throw refusal("pattern is a path pattern such as /items/**")
        }
        return PathPattern(text)
    }

    private static func refusal(_ what: String) -> Problem { Problem(.badJSON, "This is no action: \(what).") }
}
