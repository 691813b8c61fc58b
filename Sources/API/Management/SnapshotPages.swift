import CacheCore
import HTTPModel

/// /cache/snapshot: the kept copies out and in as one stream (design 9).
extension ManagementService {
    static let snapshotType = "application/x-ndjson"

    @Sendable func snapshot(_ call: ManagementCall) async throws -> ManagementReply {
        try call.needsFull()
        guard stores.mode != .no else { throw Problem(.notFound, "The cache is off: there is nothing to give.") }
        let export = SnapshotExport(context: context, isWhole: try isWhole(call))
        return ManagementReply(
            status: 200, fields: ["Content-Type": Self.snapshotType],
            body: .stream { exchange in try await export.run { try await exchange.write($0) } })
    }

    private func isWhole(_ call: ManagementCall) throws -> Bool {
        switch call.query["partitions"] {
        case nil: return false
        case "all": return true
        default: throw Problem(.badRequest, "partitions is all, or absent: what is nobody's alone.")
        }
    }

    @Sendable func setSnapshot(_ call: ManagementCall) async throws -> ManagementReply {
        try call.needsFull()
        guard stores.mode != .no else { throw Problem(.cacheDisabled, "Set another mode than no first.") }
        let (entries, intake) = try await snapshotImport.read {
            do { return try await call.exchange.readBody() } catch ExchangeError.bodyTooLarge {
                throw Problem(.tooLarge, "A body has at most \(call.settings.maxBodySize) bytes (maxBodySize).")
            }
        }
        try await intake.commit()
        return .json(.object(["entries": JSONValue(entries)]))
    }

    var snapshotImport: SnapshotImport {
        SnapshotImport(store: context.store, digest: context.digest, hash: context.hash, now: context.clock.now)
    }
}
