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
        try await context.store.commit([.setPolicy(key, layer)], durable: true)
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
        try await context.store.commit([.setPin(key, priority)], durable: true)
        return .json(.object(["priority": .string(priority.rawValue)]))
    }

    @Sendable func removePin(_ call: ManagementCall) async throws -> ManagementReply {
        try await change(call) { .setPin($0, nil) }
    }

    /// Takes something from an entry that may not be there: nothing is made then.
    private func change(_ call: ManagementCall, _ change: (EntryKey) -> StoreChange) async throws -> ManagementReply {
        let key = try call.entryKey()
        if try await context.store.entry(key) != nil {
            try await context.store.commit([change(key)], durable: true)
        }
        return .noContent
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
        let stored = try await context.store.entry(key)
        let settings = call.settings
        let head = RequestHead(method: .get, target: "/resources" + key.target.text, fields: credentials)
        let request = ResourceRequest(
            head: head, route: .resources, key: key, credentials: credentials, isProven: true,
            requestPolicy: PolicyLayer(), configuredPolicy: [settings.policies.layer(for: key.target)],
            saveIfOffline: nil, deleteIfOffline: nil, persistentState: true,
            originFields: OriginFields.make(head, settings: settings), settings: settings,
            hasSecretParameter: Secrets.hasSecretParameter(key.target, settings: settings))
        let copies = (stored?.copies ?? []).filter { Selecting.matches($0, request: credentials) }
        let flight = Flight()
        let fetch = Fetch(
            context: context, counters: counters, request: request, policy: request.policy(entry: stored),
            method: .get, fields: request.originFields, revalidate: copies, mayStore: !request.hasSecretParameter,
            hasReader: false, isDurable: true)
        counters.count(.refreshes)
        await fetch.run(flight)
        switch await flight.answer(by: nil, clock: context.clock) {
        case .failed(let error): throw OriginFailure.problem(error, isHTTPCache: true)
        case .renewed, .renewedParts, .answered, nil: return .json(try await entryJSON(key))
        }
    }
}
