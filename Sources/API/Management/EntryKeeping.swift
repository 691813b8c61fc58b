import CacheCore
import HTTPModel

/// What is kept with an entry beside its copies: policy and pin; and its refresh.
extension ManagementService {
    @Sendable func entryPolicy(_ call: ManagementCall) async throws -> ManagementReply {
        .json(try await context.store.entry(try call.entryKey())?.policy.json() ?? .object([:]))
    }

    @Sendable func setEntryPolicy(_ call: ManagementCall) async throws -> ManagementReply {
        let key = try call.entryKey()
        let layer = try PolicyLayer(json: try await call.json())
        try await commit(.setPolicy(key, layer), of: key)
        return .json(layer.json())
    }

    @Sendable func removeEntryPolicy(_ call: ManagementCall) async throws -> ManagementReply {
        try await change(call) { .setPolicy($0, PolicyLayer()) }
    }

    @Sendable func pin(_ call: ManagementCall) async throws -> ManagementReply {
        guard let pin = try await context.store.entry(try call.entryKey())?.pin else {
            throw Problem(.notFound, "This entry is not pinned.")
        }
        return .json(.object(["priority": .string(pin.rawValue)]))
    }

    @Sendable func setPin(_ call: ManagementCall) async throws -> ManagementReply {
        let key = try call.entryKey()
        let text = try await call.object(["priority"])["priority"]
        guard let priority = text?.string.flatMap({ PinPriority(rawValue: $0.asciiLowercased) }) else {
            throw Problem(.badJSON, "Send {\"priority\":\"normal\"} or {\"priority\":\"high\"}.")
        }
        try await commit(.setPin(key, priority), of: key)
        pinChanged(key, priority)
        return .json(.object(["priority": .string(priority.rawValue)]))
    }

    @Sendable func removePin(_ call: ManagementCall) async throws -> ManagementReply {
        let reply = try await change(call) { .setPin($0, nil) }
        let key = try call.entryKey()
        pinChanged(key, nil)
        // It may be pinned for something else.
        if let pin = try await context.store.entry(key)?.pin { pinChanged(key, pin) }
        return reply
    }

    /// Takes something from an entry that may not be there: nothing is made then.
    private func change(_ call: ManagementCall, _ change: (EntryKey) -> StoreChange) async throws -> ManagementReply {
        let key = try call.entryKey()
        if try await context.store.entry(key) != nil { try await commit(change(key), of: key) }
        return .noContent
    }

    private func commit(_ change: StoreChange, of key: EntryKey) async throws {
        try await context.store.commit([change], durable: true)
        if let entry = try await context.store.entry(key) { context.announce(entry) }
    }

    /// Asks the origin for the entry now, with a credential of its partition, and answers what is kept then.
    @Sendable func refresh(_ call: ManagementCall) async throws -> ManagementReply {
        let key = try call.entryKey()
        guard context.network.state.isOnline else {
            throw Problem(
                .offline, "The origin is unreachable. Try again when GET /cache says online.",
                fields: ["Retry-After": "1"])
        }
        let own = key.partition == .none ? HTTPFields() : call.credentials
        let credentials = key.partition == call.partition ? own : context.credentials.fields(for: key.partition)
        guard let credentials else {
            throw Problem(.credentialUnproven, "No credential of this partition is known. Send the request with one.")
        }
        do throws(OriginError) {
            try await EntryRefresh(context: context, counters: counters).refresh(key, credentials: credentials)
        } catch {
            throw OriginFailure.problem(error, isHTTPCache: true)
        }
        return .json(try await entryJSON(key))
    }
}
