/// The fields of a policy by name: one table for JSON, Sync-Policy and the merging of layers.
enum PolicyField: String, CaseIterable {
    case fetchPolicy, offlineReads, expirationPolicy, expireAfter, evictionPolicy, updatePolicy
    case conflictResolutionPolicy, noCache, respectNoStore, post
    case guardsWrites = "guard"
    case queueOnStatus

    /// The name in Sync-Policy: `fetch-policy`.
    var kebabName: String {
        rawValue.reduce(into: "") { text, letter in
            text += letter.isUppercase ? "-" + letter.lowercased() : String(letter)
        }
    }

    /// What may be set, for a person.
    var allowed: String {
        switch self {
        case .fetchPolicy: Self.list(FetchPolicy.self)
        case .offlineReads: Self.list(OfflineReads.self)
        case .expirationPolicy: Self.list(ExpirationPolicy.self)
        case .evictionPolicy: Self.list(EvictionPolicy.self)
        case .updatePolicy: Self.list(UpdatePolicy.self)
        case .conflictResolutionPolicy: Self.list(ConflictResolutionPolicy.self)
        case .post: Self.list(PostPolicy.self)
        case .expireAfter: "a whole number of seconds, 0 or more"
        case .noCache, .respectNoStore, .guardsWrites: "true or false"
        case .queueOnStatus: "a list of statuses from 500 to 599"
        }
    }

    private static func list<Choice: CaseIterable & RawRepresentable>(_: Choice.Type) -> String
    where Choice.RawValue == String {
        Choice.allCases.map(\.rawValue).joined(separator: ", ")
    }
}

/// A value for a policy field, from JSON or a structured field.
enum PolicyFieldValue {
    case text(String)
    case bool(Bool)
    case integer(Int64)
    case integers([Int])
}

extension PolicyLayer {
    /// Sets one field; false where the value is not one that the field takes. Words are taken in any case and with `-` for
    /// `_`; numbers and booleans also as words.
    mutating func set(_ field: PolicyField, to value: PolicyFieldValue) -> Bool {
        switch field {
        case .fetchPolicy: Self.assign(Self.choice(value), to: &fetchPolicy)
        case .offlineReads: Self.assign(Self.choice(value), to: &offlineReads)
        case .expirationPolicy: Self.assign(Self.choice(value), to: &expirationPolicy)
        case .expireAfter: Self.assign(Self.seconds(value), to: &expireAfter)
        case .evictionPolicy: Self.assign(Self.choice(value), to: &evictionPolicy)
        case .updatePolicy: Self.assign(Self.choice(value), to: &updatePolicy)
        case .conflictResolutionPolicy: Self.assign(Self.choice(value), to: &conflictResolutionPolicy)
        case .noCache: Self.assign(Self.bool(value), to: &noCache)
        case .respectNoStore: Self.assign(Self.bool(value), to: &respectNoStore)
        case .post: Self.assign(Self.choice(value), to: &post)
        case .guardsWrites: Self.assign(Self.bool(value), to: &guardsWrites)
        case .queueOnStatus: Self.assign(Self.statuses(value), to: &queueOnStatus)
        }
    }

    /// The value of a field as it is printed; nil where it is not set.
    func value(of field: PolicyField) -> PolicyFieldValue? {
        switch field {
        case .fetchPolicy: fetchPolicy.map { .text($0.rawValue) }
        case .offlineReads: offlineReads.map { .text($0.rawValue) }
        case .expirationPolicy: expirationPolicy.map { .text($0.rawValue) }
        case .expireAfter: expireAfter.map { .integer($0) }
        case .evictionPolicy: evictionPolicy.map { .text($0.rawValue) }
        case .updatePolicy: updatePolicy.map { .text($0.rawValue) }
        case .conflictResolutionPolicy: conflictResolutionPolicy.map { .text($0.rawValue) }
        case .noCache: noCache.map { .bool($0) }
        case .respectNoStore: respectNoStore.map { .bool($0) }
        case .post: post.map { .text($0.rawValue) }
        case .guardsWrites: guardsWrites.map { .bool($0) }
        case .queueOnStatus: queueOnStatus.map { .integers($0) }
        }
    }

    /// The layer without fetchPolicy, which concerns its request alone: what is kept with an entry (design 2).
    package var withoutFetchPolicy: PolicyLayer {
        var layer = self
        layer.fetchPolicy = nil
        return layer
    }

    /// Takes from `lower` what this layer does not set.
    package mutating func merge(over lower: PolicyLayer) {
        for field in PolicyField.allCases where value(of: field) == nil {
            if let value = lower.value(of: field) { _ = set(field, to: value) }
        }
    }

    private static func assign<Value>(_ value: Value?, to field: inout Value?) -> Bool {
        guard let value else { return false }
        field = value
        return true
    }

    private static func choice<Choice: CaseIterable & RawRepresentable>(_ value: PolicyFieldValue) -> Choice?
    where Choice.RawValue == String {
        guard case .text(let text) = value else { return nil }
        let wanted = text.replacingDashes.uppercased()
        return Choice.allCases.first { $0.rawValue.uppercased() == wanted }
    }

    private static func bool(_ value: PolicyFieldValue) -> Bool? {
        switch value {
        case .bool(let flag): flag
        case .text(let text): ["true": true, "yes": true, "false": false, "no": false][text.lowercased()]
        case .integer(let number): number == 1 ? true : number == 0 ? false : nil
        case .integers: nil
        }
    }

    /// A larger number of seconds than that stands for ever is taken as that one.
    private static func seconds(_ value: PolicyFieldValue) -> Int64? {
        let number: Int64?
        switch value {
        case .integer(let integer): number = integer
        case .text(let text): number = Int64(text)
        case .bool, .integers: number = nil
        }
        return number.flatMap { $0 >= 0 ? min($0, Int64(Freshness.forever)) : nil }
    }

    private static func statuses(_ value: PolicyFieldValue) -> [Int]? {
        let numbers: [Int]
        switch value {
        case .integers(let list): numbers = list
        case .integer(let number): numbers = [Int(clamping: number)]
        case .text(let text):
            let parts = text.split { $0 == "," || $0 == " " }
            numbers = parts.compactMap { Int($0) }
            guard numbers.count == parts.count else { return nil }
        case .bool: return nil
        }
        return numbers.allSatisfy { (500...599).contains($0) } ? numbers : nil
    }
}

extension String {
    /// `-` as `_`: constants are taken with either.
    var replacingDashes: String { String(map { $0 == "-" ? "_" : $0 }) }
}
