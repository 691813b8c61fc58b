import CacheCore
import HTTPModel

/// Reads the settings that requests and delivery look at (design 10).
struct SettingsReader {
    let source: ConfigurationSource

    func settings() throws(ConfigurationError) -> Settings {
        var settings = Settings()
        settings.policies = try policies()
        settings.periodicRefreshPolicy = try periodicRefreshPolicy() ?? settings.periodicRefreshPolicy
        settings.periodicRefreshInterval = try periodicRefreshInterval() ?? settings.periodicRefreshInterval
        settings.collections = try list("collections", of: ["path", "items", "item", "id"], collection)
        settings.partitionBy = try list(
            "partitionBy", of: ["path", "basic", "jwt", "cookies", "header"], partitionRule)
        settings.credentials = try list("credentials", of: ["header", "file", "command"], credential)
        settings.credentialFields = try source.strings("credentialFields") ?? []
        settings.secretFields = try source.strings("secretFields") ?? []
        settings.secretParameters = try source.strings("secretParameters") ?? settings.secretParameters
        settings.urlFields = try source.strings("urlFields") ?? settings.urlFields
        settings.targetedFields = try source.strings("targetedFields") ?? []
        settings.accessTokens = try accessTokens()
        settings.allowedHosts = try allowedHosts()
        settings.allowedOrigins = try allowedOrigins()
        settings.reservedParameters = try source.bool("reservedParameters") ?? true
        settings.maxJSONSize = try source.size("maxJSONSize") ?? settings.maxJSONSize
        settings.maxBodySize = try source.size("maxBodySize") ?? settings.maxBodySize
        settings.laneWait = try source.seconds("laneWait") ?? settings.laneWait
        settings.settle = try source.seconds("settle") ?? settings.settle
        settings.interimAnswers = try source.bool("interimAnswers") ?? true
        settings.coalesce = try source.bool("coalesce") ?? true
        settings.idempotentOrigin = try source.bool("idempotentOrigin") ?? false
        settings.maxAttempts = try source.count("maxAttempts", from: 1)
        settings.replayConcurrency = try source.count("replayConcurrency", from: 1) ?? settings.replayConcurrency
        settings.receiptRetention = try source.seconds("receiptRetention") ?? settings.receiptRetention
        settings.oracleSync = try source.bool("oracleSync") ?? false
        settings.probe = try probe()
        return settings
    }

    private func policies() throws(ConfigurationError) -> PolicyTable {
        var table = PolicyTable()
        do { table.rules = try PolicyTable(json: source["policies"] ?? [], defaultJSON: nil).rules } catch {
            throw source.error("policies", error.detail)
        }
        do { if let json = source["defaultPolicy"] { table.defaultLayer = try PolicyLayer(json: json) } } catch {
            throw source.error("defaultPolicy", error.detail)
        }
        return table
    }

    private func periodicRefreshPolicy() throws(ConfigurationError) -> PeriodicRefreshPolicy? {
        guard let text = try source.string("periodicRefreshPolicy") else { return nil }
        guard let policy = PeriodicRefreshPolicy(text: text) else {
            let allowed = PeriodicRefreshPolicy.allCases.map(\.rawValue).joined(separator: ", ")
            throw source.error("periodicRefreshPolicy", "must be one of \(allowed)")
        }
        return policy
    }

    private func periodicRefreshInterval() throws(ConfigurationError) -> Double? {
        guard let seconds = try source.seconds("periodicRefreshInterval") else { return nil }
        guard seconds > 0 else { throw source.error("periodicRefreshInterval", "must be above 0 seconds") }
        return seconds
    }

    private func list<Item>(
        _ key: String, of names: [String], _ read: (JSONValue) -> Result<Item, ConfigurationError>
    ) throws(ConfigurationError) -> [Item] {
        guard let json = source[key] else { return [] }
        guard let elements = json.array else { throw source.error(key, "must be a list of objects") }
        var items: [Item] = []
        for element in elements {
            for member in element.members ?? [] where !names.contains(member.name) {
                throw source.error(key, "\(member.name) is not one of \(names.joined(separator: ", "))")
            }
            if let path = element["path"] {
                guard let text = path.string else { throw source.error(key, "path must be a text") }
                guard PathPattern(text).isWellFormed else { throw source.error(key, "\(text): \(PathPattern.rules)") }
            }
            items.append(try read(element).get())
        }
        return items
    }

    private func collection(_ json: JSONValue) -> Result<CollectionRule, ConfigurationError> {
        guard let path = json["path"]?.string else { return failure("collections", "each needs a path") }
        var rule = CollectionRule(path: PathPattern(path))
        for (name, place) in [("items", \CollectionRule.items), ("item", \.item), ("id", \.id)] {
            guard let pointer = json[name] else { continue }
            guard let text = pointer.string else { return failure("collections", "\(name) must be a JSON pointer") }
            rule[keyPath: place] = text
        }
        for pointer in [rule.items, rule.item, rule.id] where JSONPointer(pointer) == nil {
            return failure("collections", "\(pointer) is no JSON pointer")
        }
        return .success(rule)
    }

    private func partitionRule(_ json: JSONValue) -> Result<PartitionRule, ConfigurationError> {
        let needed = #"each needs one of "basic":"user", "jwt":[…], "cookies":[…], "header":"…""#
        guard json.members?.count(where: { $0.name != "path" }) == 1 else { return failure("partitionBy", needed) }
        let part: IdentityPart
        if json["basic"]?.string == "user" {
            part = .basicUser
        } else if let claims = Self.names(json["jwt"]) {
            part = .jwt(claims: claims)
        } else if let names = Self.names(json["cookies"]) {
            part = .cookies(names: names)
        } else if let name = json["header"]?.string, Self.isFieldName(name) {
            part = .header(name)
        } else {
            return failure("partitionBy", needed)
        }
        return .success(PartitionRule(path: PathPattern(json["path"]?.string ?? "/**"), part: part))
    }

    /// At least one text and nothing else: a list that names no part would be passed over in silence.
    private static func names(_ json: JSONValue?) -> [String]? {
        guard let elements = json?.array, !elements.isEmpty else { return nil }
        let names = elements.compactMap(\.string).filter { !$0.isEmpty }
        return names.count == elements.count ? names : nil
    }

    private static func isFieldName(_ name: String) -> Bool {
        !name.isEmpty && name.utf8.allSatisfy(\.isTokenByte)
    }

    private func credential(_ json: JSONValue) -> Result<CredentialSource, ConfigurationError> {
        guard let header = json["header"]?.string, Self.isFieldName(header) else {
            return failure("credentials", "each needs a header, the name of a field")
        }
        if let file = json["file"]?.string, json["command"] == nil {
            return .success(CredentialSource(header: header, source: .file(file)))
        }
        let words = json["command"]?.array?.compactMap(\.string) ?? []
        if !words.isEmpty, words.count == json["command"]?.array?.count, json["file"] == nil {
            return .success(CredentialSource(header: header, source: .command(words)))
        }
        return failure("credentials", "each needs either a file, or a command as a list of words")
    }

    /// Texts, or `{"token":"…","readOnly":true}`.
    private func accessTokens() throws(ConfigurationError) -> [AccessToken] {
        guard let json = source["accessTokens"] else { return [] }
        guard let elements = json.array ?? json.string?.split(separator: ",").map({ .string(String($0)) }) else {
            throw source.error("accessTokens", #"must be a list, like ["12345678"]"#)
        }
        var tokens: [AccessToken] = []
        for element in elements {
            guard let secret = element.string ?? element["token"]?.string, secret.utf8.count >= 8 else {
                throw source.error("accessTokens", "each is a text of 8 characters or more, or an object with token")
            }
            let others = (element.members ?? []).filter { $0.name != "token" }
            guard others.allSatisfy({ $0.name == "readOnly" && $0.value.bool != nil }) else {
                throw source.error("accessTokens", "an object has token, and perhaps readOnly, which is true or false")
            }
            tokens.append(AccessToken(secret: secret, isReadOnly: element["readOnly"]?.bool ?? false))
        }
        return tokens
    }

    /// Names as the Host field has them, without the port, which is not looked at.
    private func allowedHosts() throws(ConfigurationError) -> [String] {
        let hosts = try source.strings("allowedHosts") ?? []
        for host in hosts {
            let name = host.hasPrefix("[") && host.hasSuffix("]") ? "v6" : host
            guard !name.isEmpty, !name.utf8.contains(where: { ":/*@".utf8.contains($0) }) else {
                throw source.error("allowedHosts", "\(host): each is the name of a host, without scheme, port and path")
            }
        }
        return hosts.map(\.asciiLowercased)
    }

    /// As the Origin field has them.
    private func allowedOrigins() throws(ConfigurationError) -> [String] {
        let origins = try source.strings("allowedOrigins") ?? []
        for origin in origins {
            let parts = origin.split(separator: ":", maxSplits: 1)
            guard parts.count == 2, parts[1].hasPrefix("//"), parts[1].utf8.count > 2,
                !parts[1].dropFirst(2).utf8.contains(where: { "/*".utf8.contains($0) })
            else {
                throw source.error(
                    "allowedOrigins", "\(origin): each is SCHEME://HOST[:PORT], without a path, as browsers send it")
            }
        }
        return origins
    }

    private static let probeKeys = ["target", "status", "header", "maxInterval"]

    private func probe() throws(ConfigurationError) -> ProbeSettings {
        var probe = ProbeSettings()
        guard let json = source["probe"] else { return probe }
        guard let members = json.members else { throw source.error("probe", "must be an object") }
        for member in members where !Self.probeKeys.contains(member.name) {
            throw source.error("probe", "\(member.name) is not one of \(Self.probeKeys.joined(separator: ", "))")
        }
        if let target = json["target"] {
            guard let text = target.string, text.isEmpty || text.hasPrefix("/") || text.hasPrefix("?") else {
                throw source.error("probe", "target must begin with / or ?")
            }
            probe.target = Target(unchecked: text)
        }
        if let status = json["status"] {
            guard let number = status.int, (200...599).contains(number) else {
                throw source.error("probe", "status must be a status from 200 to 599")
            }
            probe.status = number
        }
        if let header = json["header"] {
            guard let fields = header.members, fields.count == 1, let value = fields[0].value.string,
                Self.isFieldName(fields[0].name)
            else { throw source.error("probe", #"header must be one field, like {"X-Site":"mine"}"#) }
            probe.header = (fields[0].name, value)
        }
        if let interval = json["maxInterval"] {
            guard let seconds = interval.double, seconds > 0, seconds <= ConfigurationSource.longest else {
                throw source.error("probe", "maxInterval must be a number of seconds above 0, at most 1e9")
            }
            probe.maxInterval = seconds
        }
        return probe
    }

    private func failure<Item>(_ key: String, _ allowed: String) -> Result<Item, ConfigurationError> {
        .failure(source.error(key, allowed))
    }
}
