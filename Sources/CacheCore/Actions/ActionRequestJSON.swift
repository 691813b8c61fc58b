import HTTPModel

// The JSON form of POST /cache/actions, which is also the one on disk.

extension ActionRequest {
    private static let targetLimit = 10_000

    /// Reads what a client sends; throws `bad-json`, which names the member, or `bad-target`.
    package init(json: JSONValue) throws {
        guard json.isObject else { throw Self.refusal("it is a JSON object with a type") }
        guard let type = json["type"]?.string.flatMap({ ActionType(rawValue: $0) }) else {
            throw Self.refusal("type is one of \(ActionType.allCases.map(\.rawValue).joined(separator: ", "))")
        }
        switch type {
        case .refresh:
            try Self.allow(["pattern"], in: json)
            self = .refresh(try Self.pattern(json))
        case .prefetch:
            try Self.allow(["targets", "collection", "document", "links", "pin"], in: json)
            self = .prefetch(try Self.source(json), pin: try Self.pin(json))
        case .verify:
            try Self.allow(["store"], in: json)
            self = .verify(store: try Self.text("store", json))
        case .reconcile:
            try Self.allow(["store"], in: json)
            self = .reconcile(store: try Self.text("store", json))
        case .export:
            try Self.allow(["file", "partitions"], in: json)
            let partitions = try Self.text("partitions", json)
            guard partitions ?? "all" == "all" else { throw Self.refusal("partitions is all, or absent") }
            self = .export(file: try Self.file(json), isWhole: partitions != nil)
        case .import:
            try Self.allow(["file"], in: json)
            self = .import(file: try Self.file(json))
        case .save:
            try Self.allow([], in: json)
            self = .save
        }
    }

    package func json() -> JSONValue {
        var json: JSONValue = .object(["type": .string(type.rawValue)])
        switch self {
        case .refresh(let pattern): json["pattern"] = .string(pattern.text)
        case .prefetch(let source, let pin):
            switch source {
            case .targets(let targets): json["targets"] = .strings(targets.map(\.text))
            case .collection(let target): json["collection"] = .string(target.text)
            case .links(let target, let pointer):
                json["document"] = .string(target.text)
                json["links"] = .string(pointer.text)
            }
            json["pin"] = pin.map { .string($0.rawValue) }
        case .verify(let store), .reconcile(let store): json["store"] = store.map { .string($0) }
        case .export(let file, let isWhole):
            json["file"] = .string(file)
            json["partitions"] = isWhole ? "all" : nil
        case .import(let file): json["file"] = .string(file)
        case .save: break
        }
        return json
    }

    // MARK: Members

    private static func allow(_ names: [String], in json: JSONValue) throws {
        for member in json.members ?? [] where member.name != "type" && !names.contains(member.name) {
            let allowed = ["type"] + names
            throw refusal("\(member.name) is unknown here; allowed: \(allowed.joined(separator: ", "))")
        }
    }

    private static func text(_ name: String, _ json: JSONValue) throws -> String? {
        guard let value = json[name] else { return nil }
        guard let text = value.string, !text.isEmpty else { throw refusal("\(name) is a text") }
        return text
    }

    private static func pattern(_ json: JSONValue) throws -> PathPattern {
        guard let text = try text("pattern", json) else { return PathPattern("/**") }
        guard text.utf8.first == UInt8(ascii: "/") else { throw refusal("pattern is a path pattern such as /items/**") }
        let pattern = PathPattern(text)
        guard pattern.isWellFormed else { throw refusal("in a pattern \(PathPattern.rules)") }
        return pattern
    }

    private static func file(_ json: JSONValue) throws -> String {
        guard let text = try text("file", json), !text.utf8.contains(0) else {
            throw refusal("file is the name of a file under storeRoots, such as backup.ndjson")
        }
        return text
    }

    private static func pin(_ json: JSONValue) throws -> PinPriority? {
        guard let text = try text("pin", json) else { return nil }
        guard let pin = PinPriority(rawValue: text) else { throw refusal("pin is normal or high") }
        return pin
    }

    private static func source(_ json: JSONValue) throws -> PrefetchSource {
        let named = ["targets", "collection", "document"].filter { json[$0] != nil }
        guard named.count == 1, (named == ["document"]) == (json["links"] != nil) else {
            throw refusal("name targets, a collection, or a document and in links a JSON pointer to its links")
        }
        if let value = json["targets"] {
            guard let items = value.array, (1...targetLimit).contains(items.count) else {
                throw refusal("targets is a list of 1 to \(targetLimit) targets")
            }
            return .targets(try items.map { try target($0) })
        }
        if let value = json["collection"] { return .collection(try target(value)) }
        guard let pointer = json["links"]?.string.flatMap({ JSONPointer($0) }) else {
            throw refusal("links is a JSON pointer such as /items/*/url")
        }
        return .links(in: try target(json["document"] ?? .null), pointer)
    }

    /// Checked as one under /resources is.
    private static func target(_ json: JSONValue) throws -> Target {
        guard let text = json.string,
            let parsed = try ParsedTarget.parse(
                rawTarget: "/resources" + text, method: .get, fields: HTTPFields(), reservedParameters: false)
        else { throw Problem(.badTarget, "A target is a text that is empty or begins with / or ?.") }
        return parsed.target
    }

    private static func refusal(_ what: String) -> Problem { Problem(.badJSON, "This is no action: \(what).") }
}
