import CacheCore
import HTTPModel

/// /cache/mode, /cache/save and /cache/snapshot (design 9, 11).
extension ManagementService {
    func modeMethods(_ name: String) -> Methods? {
        switch name {
        case "mode": [(.get, mode), (.put, setMode)]
        case "save": [(.post, save)]
        case "snapshot": [(.get, snapshot), (.put, setSnapshot)]
        default: nil
        }
    }

    @Sendable private func mode(_ call: ManagementCall) async throws -> ManagementReply {
        try call.needsFull()
        return .json(stores.mode.json())
    }

    /// In force at once, until the next restart.
    @Sendable private func setMode(_ call: ManagementCall) async throws -> ManagementReply {
        try call.needsFull()
        let request = try CacheModeRequest(json: try await call.json())
        // Read before anything is changed: one that can't be used is refused.
        var intake: (any EntryIntake)?
        if let data = request.data { intake = try await snapshotImport.read(data).intake }
        do { try await stores.setMode(request.mode) } catch {
            await intake?.discard()
            throw error
        }
        try await intake?.commit()
        context.events.emit(.settings(.mode))
        return .json(stores.mode.json())
    }

    /// `reason=background`: as when an application goes to the background, which only the mode automatic saves for.
    @Sendable private func save(_ call: ManagementCall) async throws -> ManagementReply {
        try call.needsFull()
        let reason = call.query["reason"].map { SaveReason(rawValue: $0) } ?? .demand
        guard let reason, reason != .shutdown else {
            throw Problem(.badRequest, "reason is demand or background.")
        }
        return .json(.object(["saved": .bool(try await stores.save(for: reason))]))
    }
}
