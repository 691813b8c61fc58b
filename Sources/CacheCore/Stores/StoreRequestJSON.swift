import HTTPModel

// The JSON form of design 11: in POST /cache/stores, the key `stores` of the configuration, and the list of attached stores on
// disk.

extension StoreRequest {
    private static let names = [
        "name", "paths", "type", "location", "fileName", "maxStoreSize", "mode", "strategy", "overwriteIncompatible",
        "started", "role", "deliver", "mirrorStrict",
    ]

    /// Reads one; throws `Problem` that names the member.
    package init(json: JSONValue) throws {
        try self.init(reading: json)
        try check()
    }

    private init(reading json: JSONValue) throws {
        guard let members = json.members else { throw Self.refusal("a store is an object") }
        for member in members where !Self.names.contains(member.name) {
            throw Self.refusal("\(member.name) is none of \(Self.names.joined(separator: ", "))")
        }
        guard let name = json["name"]?.string, Self.isName(name), name != StoreName.standard else {
            throw Self.refusal("name has 1 to 64 letters, digits, -, _ or ., not - or . first, and is not default")
        }
        let paths = json["paths"]?.array?.compactMap(\.string) ?? []
        guard !paths.isEmpty, paths.count == json["paths"]?.array?.count, paths.allSatisfy({ $0.utf8.first == 0x2F })
        else { throw Self.refusal("paths is a list of patterns such as /users/7/**") }
        self.init(name: name, paths: paths.map { PathPattern($0) })
        guard self.paths.allSatisfy(\.isWellFormed) else { throw Self.refusal("in paths \(PathPattern.rules)") }
        if let value = json["type"] {
            guard let type = value.string.flatMap({ StoreType(rawValue: $0.asciiLowercased) }) else {
                throw Self.refusal("type is sqlite or memory")
            }
            self.type = type
        }
        if let value = json["location"] { (location, mirror) = try Self.location(value) }
        if let value = json["role"] {
            guard let role = value.string.flatMap({ StoreRole(rawValue: $0) }) else {
                throw Self.refusal("role is app or extension")
            }
            self.role = role
        }
        delivers = try Self.flag("deliver", json) ?? false
        mirrorStrict = try Self.flag("mirrorStrict", json) ?? false
        if let value = json["fileName"] {
            guard let text = value.string, Self.isName(text) else {
                throw Self.refusal("fileName is a name as name is one, without a folder")
            }
            fileName = text
        }
        if let value = json["maxStoreSize"] {
            guard let size = value.int ?? value.string.flatMap({ ByteCount.parse($0) }).map({ Int($0) }), size > 0
            else { throw Self.refusal("maxStoreSize is a size in bytes, or a text such as 512MiB") }
            maxStoreSize = Int64(size)
        }
        if let value = json["mode"] {
            guard let request = CacheModeRequest(nameOrJSON: value), request.data == nil else {
                throw Self.refusal("mode is one of \(CacheMode.allCases.map(\.rawValue).joined(separator: ", "))")
            }
            mode = request.mode
        }
        if let value = json["strategy"] {
            guard let strategy = value.string.flatMap({ StrategyName(rawValue: $0) }) else {
                throw Self.refusal(
                    "strategy is one of \(StrategyName.allCases.map(\.rawValue).joined(separator: ", "))")
            }
            self.strategy = strategy
        }
        overwriteIncompatible = try Self.flag("overwriteIncompatible", json) ?? false
        isStarted = try Self.flag("started", json) ?? true
    }

    /// Throws where its members don't go together.
    private func check() throws {
        guard mirror != nil else {
            guard role == .app && !delivers && !mirrorStrict else {
                throw Self.refusal("role extension, deliver and mirrorStrict need a location.mirror")
            }
            return
        }
        guard type == .sqlite else { throw Self.refusal("a store in memory has no mirror") }
        guard mode != .initialized, mode != .manualSaving else {
            throw Self.refusal("with a mirror, from which other processes read, mode is automatic or no")
        }
    }

    /// Reads one or an array of them; those of an array that name no location lie where the first one does.
    package static func list(json: JSONValue) throws -> [StoreRequest] {
        guard let items = json.array else { return [try StoreRequest(json: json)] }
        var requests = try items.map { try StoreRequest(reading: $0) }
        for index in requests.indices where requests[index].location == nil && requests[index].mirror == nil {
            requests[index].location = requests[0].location
            requests[index].mirror = requests[0].mirror
        }
        for request in requests { try request.check() }
        return requests
    }

    package func json() -> JSONValue {
        .object(omittingNil: [
            "name": .string(name), "paths": .strings(paths.map(\.text)), "type": .string(type.rawValue),
            "location": locationJSON, "fileName": .string(file),
            "maxStoreSize": maxStoreSize.map { JSONValue($0) }, "mode": mode.map { .string($0.rawValue) },
            "strategy": strategy.map { .string($0.rawValue) },
            "overwriteIncompatible": .bool(overwriteIncompatible), "started": .bool(isStarted),
            "role": mirror == nil ? nil : .string(role.rawValue), "deliver": mirror == nil ? nil : .bool(delivers),
            "mirrorStrict": mirror == nil ? nil : .bool(mirrorStrict),
        ])
    }

    private var locationJSON: JSONValue? {
        location == nil && mirror == nil
            ? nil
            : .object(omittingNil: ["primary": location.map { .string($0) }, "mirror": mirror.map { .string($0) }])
    }

    /// Reads the folders of a location; throws `Problem`.
    package static func location(_ json: JSONValue) throws -> (primary: String?, mirror: String?) {
        let folders = (json.members ?? []).map { member in
            let folder = member.value.string ?? ""
            return ["primary", "mirror"].contains(member.name) && !folder.isEmpty && !folder.utf8.contains(0)
        }
        guard !folders.isEmpty, folders.allSatisfy({ $0 }) else {
            throw refusal("location is {\"primary\":FOLDER}, {\"mirror\":FOLDER} or both")
        }
        return (json["primary"]?.string, json["mirror"]?.string)
    }

    private static func flag(_ name: String, _ json: JSONValue) throws -> Bool? {
        guard let value = json[name] else { return nil }
        guard let flag = value.bool else { throw refusal("\(name) is true or false") }
        return flag
    }

    private static func isName(_ text: String) -> Bool {
        let bytes = text.utf8
        guard (1...64).contains(bytes.count), bytes.first != UInt8(ascii: "."), bytes.first != UInt8(ascii: "-") else {
            return false
        }
        return bytes.allSatisfy { byte in
            let letter = byte | 0x20
            return byte.isDigit || letter >= 0x61 && letter <= 0x7A || "-_.".utf8.contains(byte)
        }
    }

    private static func refusal(_ what: String) -> Problem { Problem(.badJSON, "This store can't be taken: \(what).") }
}
