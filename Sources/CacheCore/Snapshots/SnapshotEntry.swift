import HTTPModel

// An entry as a line of a snapshot has it: all that is kept but parts of copies, which would have to be fetched again.

extension Entry {
    var snapshotJSON: JSONValue {
        .object(omittingNil: [
            "partition": .given(.string(key.partition.text), where: key.partition != .none),
            "target": .string(key.target.text),
            "policy": .given(policy.json(), where: !policy.isEmpty),
            "pin": pins.own.map { .string($0.rawValue) },
            "pinnedFor": .given(pins.json, where: !pins.ancillary.isEmpty),
            "lastSync": lastSync.map { JSONValue($0) },
            "copies": .array(copies.map(\.snapshotJSON)),
        ])
    }

    /// Throws a `Problem` that says what is wrong with it.
    init(snapshot json: JSONValue) throws(Problem) {
        guard let partition = PartitionID(text: json["partition"]?.string ?? ""),
            let text = json["target"]?.string,
            let parsed = try ParsedTarget.parse(
                rawTarget: "/resources" + text, method: .get, fields: HTTPFields(), reservedParameters: false),
            let copies = json["copies"]?.array
        else { throw SnapshotLine.flaw("it has no entry with target and copies") }
        self.init(key: EntryKey(partition: partition, target: parsed.target))
        if let value = json["policy"] { policy = try PolicyLayer(json: value) }
        if let value = json["pin"] { pins.own = try Pins.priority(value) }
        for member in json["pinnedFor"]?.members ?? [] {
            pins.ancillary[Target(unchecked: member.name)] = try Pins.priority(member.value)
        }
        lastSync = json["lastSync"]?.double
        for copy in copies { self.copies.append(try ServerCopy(snapshot: copy, isShared: partition == .none)) }
    }
}

extension Pins {
    /// The ancillary ones, by what led to the entry.
    package var json: JSONValue {
        .object(
            ancillary.map { JSONMember($0.key.text, .string($0.value.rawValue)) }.sorted {
                $0.name.utf8.lexicographicallyPrecedes($1.name.utf8)
            })
    }

    fileprivate static func priority(_ json: JSONValue) throws(Problem) -> PinPriority {
        guard let pin = json.string.flatMap({ PinPriority(rawValue: $0) }) else {
            throw SnapshotLine.flaw("its pin is neither normal nor high")
        }
        return pin
    }
}

extension ServerCopy {
    fileprivate var snapshotJSON: JSONValue {
        .object(omittingNil: [
            "status": JSONValue(status), "fields": Self.json(fields),
            "length": JSONValue(content.length), "sha256": .string(content.digest.hex),
            "requestTime": JSONValue(requestTime), "responseTime": JSONValue(responseTime),
            "selecting": .given(Self.json(selecting), where: !selecting.isEmpty),
            "expired": .given(true, where: isExpired), "listed": .given(true, where: isListed),
            "explicitFreshnessOnly": .given(true, where: explicitFreshnessOnly),
        ])
    }

    /// As one of an earlier start.
    fileprivate init(snapshot json: JSONValue, isShared: Bool) throws(Problem) {
        guard let status = json["status"]?.int, (200...399).contains(status) || status == 404 || status == 410,
            status != 206, status != 304, let length = json["length"]?.int, length >= 0,
            let digest = Digest(hex: json["sha256"]?.string), let requestTime = json["requestTime"]?.double,
            let responseTime = json["responseTime"]?.double
        else { throw SnapshotLine.flaw("a copy lacks its status, length, sha256 or times") }
        self.init(
            status: status,
            fields: Validation.stripped(HTTPFields(try Self.fields(json["fields"])), isShared: isShared),
            content: Content(digest: digest, length: Int64(length), inline: nil), requestTime: requestTime,
            responseTime: responseTime, selecting: try Self.fields(json["selecting"] ?? []),
            isExpired: json["expired"]?.bool ?? false, isListed: json["listed"]?.bool ?? false,
            explicitFreshnessOnly: json["explicitFreshnessOnly"]?.bool ?? false, epoch: 0)
    }

    private static func json(_ fields: some Sequence<HTTPField>) -> JSONValue {
        .array(fields.map { .strings([$0.name, $0.value]) })
    }

    /// Only what an origin could have sent: nothing that would break out of a head.
    private static func fields(_ json: JSONValue?) throws(Problem) -> [HTTPField] {
        var fields: [HTTPField] = []
        for pair in json?.array ?? [] {
            guard let name = pair[0]?.string, let value = pair[1]?.string, !name.isEmpty,
                name.utf8.allSatisfy(\.isTokenByte), value.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 })
            else { throw SnapshotLine.flaw("a field of a copy is no pair of name and value") }
            fields.append(HTTPField(name, value))
        }
        return fields
    }
}

extension JSONValue? {
    /// The value, or nothing. (A plain `nil` between values would be JSON's null.)
    fileprivate static func given(_ value: JSONValue, where isGiven: Bool) -> JSONValue? {
        isGiven ? .some(value) : Optional.none
    }
}

extension Digest {
    /// The inverse of `hex`.
    init?(hex text: String?) {
        guard let bytes = text.flatMap({ Hex.decode($0) }), bytes.count == 32 else { return nil }
        self.init(bytes: bytes)
    }
}
