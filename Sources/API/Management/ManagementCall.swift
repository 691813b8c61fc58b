import CacheCore
import HTTPModel

/// One management request with what its handlers need of it.
struct ManagementCall: Sendable {
    let context: ServiceContext
    let exchange: any Exchange
    let query: QueryParameters
    let access: Access
    let settings: Settings
    /// The caller's own partition.
    let partition: PartitionID
    /// The credential fields of the request.
    let credentials: HTTPFields

    init(_ context: ServiceContext, _ exchange: any Exchange, query: QueryParameters, access: Access) {
        self.context = context
        self.exchange = exchange
        self.query = query
        self.access = access
        let settings = context.settings.current
        self.settings = settings
        var fields = exchange.head.fields
        // A token of Holdfast's own is no identity at the origin.
        if let value = fields["Authorization"], value.prefix(7).equalsIgnoringASCIICase("Bearer "),
            settings.accessTokens.contains(where: {
                ConstantTime.equal(value.dropFirst(7).trimmingFieldSpace.utf8, $0.secret.utf8)
            })
        {
            fields.remove("Authorization")
        }
        let identity = context.identity(
            of: fields, at: Target(unchecked: query["target"] ?? ""), settings: settings)
        // A part of an identity proves nothing until the origin has accepted the rest.
        let isProven =
            !identity.isPartial || context.credentials.isProven(identity.credentials, for: identity.partition)
        partition = isProven ? identity.partition : .none
        credentials = identity.credentials
    }

    /// Throws 403 for anything but a full token.
    func needsFull() throws {
        guard access == .full else { throw Problem(.readOnlyToken, "This needs a full token.") }
    }

    /// Whether a record of that partition may be shown: the caller's and none, every one with a full token.
    func maySee(_ other: PartitionID) -> Bool { access == .full || other == partition || other == .none }

    /// What a list shows; nil: all partitions.
    func visiblePartitions() throws -> [PartitionID]? {
        guard let text = query["partition"] else { return partition == .none ? [.none] : [partition, .none] }
        if text == "*" {
            try needsFull()
            return nil
        }
        return [try named(text)]
    }

    private func named(_ text: String) throws -> PartitionID {
        guard let id = PartitionID(text: text) else {
            throw Problem(.badRequest, "partition is an id of /cache/partitions, empty, or * in lists.")
        }
        if id != partition, id != .none { try needsFull() }
        return id
    }

    /// The entry that `target` and `partition` name. A target is checked as one under /resources is.
    func entryKey() throws -> EntryKey {
        guard let text = query["target"] else {
            throw Problem(.badRequest, "Name the entry: ?target=/items/1, percent-encoded where it holds &, # or %.")
        }
        guard
            let parsed = try ParsedTarget.parse(
                rawTarget: "/resources" + text, method: .get, fields: HTTPFields(), reservedParameters: false)
        else { throw Problem(.badTarget, "A target is empty or begins with / or ?.") }
        return EntryKey(partition: try query["partition"].map { try named($0) } ?? partition, target: parsed.target)
    }

    /// `limit`, 1 to 1000, by default 100.
    func limit() throws -> Int {
        guard let text = query["limit"] else { return 100 }
        guard let number = Int(text), (1...1000).contains(number) else {
            throw Problem(.badRequest, "limit is a number from 1 to 1000.")
        }
        return number
    }

    /// A parameter that is true or false; false where absent.
    func flag(_ name: String) throws -> Bool {
        switch query[name] {
        case nil, "false": return false
        case "true": return true
        default: throw Problem(.badRequest, "\(name) is true or false.")
        }
    }

    /// The request body as a JSON object, at most `maxJSONSize` bytes, with no other members than `allowed`.
    func object(_ allowed: Set<String>) async throws -> JSONValue {
        let value = try await json()
        guard let members = value.members else { throw Problem(.badJSON, "Send a JSON object.") }
        for member in members where !allowed.contains(member.name) {
            throw Problem(
                .badJSON, "“\(member.name)” is unknown here. Allowed: \(allowed.sorted().joined(separator: ", ")).")
        }
        return value
    }

    /// The request body as JSON, at most `maxJSONSize` bytes.
    func json() async throws -> JSONValue {
        let limit = settings.maxJSONSize
        let tooLarge = Problem(.tooLarge, "JSON has at most \(limit) bytes (maxJSONSize).")
        if let length = exchange.head.bodyLength, length > limit { throw tooLarge }
        var bytes: [UInt8] = []
        do {
            while let piece = try await exchange.readBody() {
                bytes += piece
                if Int64(bytes.count) > limit { throw tooLarge }
            }
        } catch ExchangeError.bodyTooLarge {
            throw tooLarge
        }
        do {
            return try JSONValue(parsing: bytes)
        } catch {
            throw Problem(.badJSON, "The body is no JSON: \(error).")
        }
    }

    static func notFound(_ what: String) -> Problem { Problem(.notFound, "There is no such \(what).") }

    /// `{"items":[…],"next":"…"}`.
    static func list(_ items: [JSONValue], next: String?) -> ManagementReply {
        .json(.object(omittingNil: ["items": .array(items), "next": next.map { .string($0) }]))
    }
}
