import CacheCore
import HTTPModel

/// GET /cache, and the switches: network, suspended, policies.
extension ManagementService {
    func settingMethods(_ name: String) -> Methods? {
        switch name {
        case "network": [(.get, network), (.put, setNetwork)]
        case "suspended": [(.get, suspended), (.put, setSuspended)]
        case "policies": [(.get, policies), (.put, setPolicies)]
        default: modeMethods(name)
        }
    }

    @Sendable func overview(_ call: ManagementCall) async throws -> ManagementReply {
        let usage = await context.store.usage()
        let counts = context.queue.counts
        let settings = call.settings
        let stores = try await stores.stores()
        return .json(
            .object([
                "network": .string(context.network.state.rawValue),
                "identity": .string(settings.probe.headerName == nil ? "unchecked" : "checked"),
                "mode": self.stores.mode.json(),
                "startedAt": .string(Timestamp.format(startedAt)),
                "hits": JSONValue(counters[.hits]), "misses": JSONValue(counters[.misses]),
                "sizes": .object([
                    "copies": JSONValue(usage.copies), "operations": JSONValue(usage.operations),
                    "view": JSONValue(usage.viewBytes), "damagedBodies": JSONValue(usage.damagedBodies),
                ]),
                "limits": .object([
                    "store": JSONValue(usage.limit), "body": JSONValue(settings.maxBodySize),
                    "json": JSONValue(settings.maxJSONSize),
                ]),
                "entries": JSONValue(usage.entries),
                "pending": JSONValue(counts.pending + counts.sending + counts.unknown),
                "conflicts": JSONValue(counts.openConflicts), "failed": JSONValue(counts.failed),
                "pinned": JSONValue(pinned()),
                "suspended": .bool(context.delivery.isSuspended),
                "stores": .array(
                    stores.map { ["name": .string($0.request.name), "status": .string($0.status.rawValue)] }),
            ]))
    }

    @Sendable private func network(_ call: ManagementCall) async throws -> ManagementReply {
        try call.needsFull()
        return networkReply()
    }

    private func networkReply() -> ManagementReply {
        let state = context.network.state
        return .json(.object(["state": .string(state.rawValue), "offline": .bool(state == .forcedOffline)]))
    }

    @Sendable private func setNetwork(_ call: ManagementCall) async throws -> ManagementReply {
        try call.needsFull()
        context.network.force(offline: try await Self.flag("offline", of: call))
        return networkReply()
    }

    @Sendable private func suspended(_ call: ManagementCall) async throws -> ManagementReply {
        .json(.object(["suspended": .bool(context.delivery.isSuspended)]))
    }

    @Sendable private func setSuspended(_ call: ManagementCall) async throws -> ManagementReply {
        try call.needsFull()
        let isSuspended = try await Self.flag("suspended", of: call)
        context.delivery.suspend(isSuspended)
        actions.suspend(isSuspended)
        context.events.emit(.settings(.suspended))
        return try await suspended(call)
    }

    private static func flag(_ name: String, of call: ManagementCall) async throws -> Bool {
        guard let value = try await call.object([name])[name]?.bool else {
            throw Problem(.badJSON, "Send {\"\(name)\":true} or {\"\(name)\":false}.")
        }
        return value
    }

    @Sendable private func policies(_ call: ManagementCall) async throws -> ManagementReply {
        try call.needsFull()
        return .json(context.settings.current.policies.json())
    }

    /// In force at once, until the next reload of the configuration or restart.
    @Sendable private func setPolicies(_ call: ManagementCall) async throws -> ManagementReply {
        try call.needsFull()
        let table = try PolicyTable(
            json: try await call.object(["policies", "defaultPolicy"]), defaultJSON: nil)
        context.settings.update { $0.policies = table }
        invalidateView()
        context.events.emit(.settings(.policies))
        return .json(table.json())
    }
}
