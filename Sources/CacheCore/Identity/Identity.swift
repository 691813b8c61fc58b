package import HTTPModel

/// Whose a request is (design 1, "partition").
package struct Identity: Sendable, Hashable {
    package var partition: PartitionID
    /// The credential fields that it carries.
    package var credentials: HTTPFields
    /// Whether `partitionBy` took a part of them: what is kept then shows only to values that the origin has accepted.
    package var isPartial: Bool

    /// `hash`: keyed, with the store's secret. Credentials without a value do not count.
    package static func of(
        fields: HTTPFields, target: Target, settings: Settings, hash: ([UInt8]) -> PartitionID
    ) -> Identity {
        let path = target.path
        let rule = settings.partitionBy.first { $0.path.matches(path) }
        var names = CredentialFields.builtIn + settings.credentialFields
        if case .header(let name) = rule?.part { names.append(name) }
        let credentials = HTTPFields(
            fields.filter { field in
                !field.value.isEmpty && names.contains { $0.equalsIgnoringASCIICase(field.name) }
            })
        guard !credentials.isEmpty else {
            return Identity(partition: .none, credentials: credentials, isPartial: false)
        }
        if let rule, let part = rule.part.values(in: credentials) {
            return Identity(
                partition: hash(canonical(["part", rule.part.kind] + part)), credentials: credentials, isPartial: true)
        }
        let lines = credentials.map { ($0.name.asciiLowercased, $0.value) }.sorted { $0 < $1 }
        return Identity(
            partition: hash(canonical(["whole"] + lines.flatMap { [$0.0, $0.1] })), credentials: credentials,
            isPartial: false)
    }

    /// Texts as bytes that no other texts give: each behind its length.
    private static func canonical(_ texts: [String]) -> [UInt8] {
        texts.flatMap { text in
            let bytes = text.fieldBytes
            return Array("\(bytes.count):".utf8) + bytes
        }
    }
}

/// The fields that carry credentials without being configured.
enum CredentialFields {
    static let builtIn = [
        "Authorization", "Cookie", "Proxy-Authorization", "X-Api-Key", "Api-Key", "X-Auth-Token", "X-Access-Token",
    ]
}

extension IdentityPart {
    fileprivate var kind: String {
        switch self {
        case .basicUser: "basic"
        case .jwt: "jwt"
        case .cookies: "cookies"
        case .header: "header"
        }
    }

    /// The values of the part, with their names; nil where the request lacks any of it.
    fileprivate func values(in fields: HTTPFields) -> [String]? {
        switch self {
        case .basicUser:
            guard let token = Self.token(of: "basic", in: fields), let bytes = Base64.decode(token),
                let colon = bytes.firstIndex(of: UInt8(ascii: ":"))
            else { return nil }
            return [String(fieldBytes: bytes[..<colon])]
        case .jwt(let claims):
            let parts = Self.token(of: "bearer", in: fields)?.split(separator: ".", omittingEmptySubsequences: false)
            guard let parts, parts.count == 3, let bytes = Base64.decodeURL(parts[1]),
                let payload = try? JSONValue(parsing: bytes)
            else { return nil }
            return Self.all(claims) { name in payload[name].map(\.description) }
        case .cookies(let names):
            let pairs = fields.values("Cookie").flatMap { $0.split(separator: ";") }.map { pair in
                let equals = pair.utf8.firstIndex(of: UInt8(ascii: "=")) ?? pair.endIndex
                return (pair[..<equals].trimmingFieldSpace, String(Substring(pair.utf8[equals...].dropFirst())))
            }
            return Self.all(names) { name in pairs.first { $0.0.hasSameBytes(as: name) }?.1 }
        case .header(let name):
            return fields.combined(name).map { [name.asciiLowercased, $0] }
        }
    }

    /// What stands behind the scheme in Authorization.
    private static func token(of scheme: String, in fields: HTTPFields) -> Substring? {
        guard let value = fields["Authorization"], let space = value.utf8.firstIndex(of: 0x20),
            value[..<space].equalsIgnoringASCIICase(scheme)
        else { return nil }
        return value[space...].trimmingFieldSpace
    }

    /// Names and values in turn; nil where one has no value.
    private static func all(_ names: [String], _ value: (String) -> String?) -> [String]? {
        var found: [String] = []
        for name in names {
            guard let value = value(name) else { return nil }
            found += [name, value]
        }
        return found.isEmpty ? nil : found
    }
}
