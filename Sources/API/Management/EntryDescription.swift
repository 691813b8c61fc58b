import CacheCore
import HTTPModel

/// What /cache says of an entry.
extension ManagementService {
    /// The states of entries: those of `Sync-State`, and `listed` for one that is known from a list alone.
    static let states = [
        "synced", "listed", "pending-create", "pending-update", "pending-patch", "pending-delete", "conflict", "failed",
    ]

    func json(_ entry: Entry) async throws -> JSONValue {
        let edit = context.queue.localEdit(of: entry.key)
        let conflict = context.queue.conflict(of: entry.key)
        let uses = counters.uses(of: entry.key)
        return .object(omittingNil: [
            "target": .string(entry.key.target.text), "partition": .string(entry.key.partition.text),
            "kind": .string(try await kind(entry, edit)), "state": .string(context.state(of: entry)),
            "serverCopy": entry.copies.first.map { json($0, of: entry) },
            "variants": JSONValue(entry.copies.count),
            "parts": entry.parts.isEmpty ? nil : .array(entry.parts.map { Self.json($0) }),
            "localEdit": edit.map { Self.json($0) },
            "conflict": conflict.map { .string("/cache/conflicts/" + $0.id) },
            "hasOfflineUpdates": .bool(edit != nil), "hasConflicts": .bool(conflict != nil),
            "hasOfflineCommitError": .bool(edit?.syncState == "failed"),
            "policy": entry.policy.json(), "pin": entry.pin.map { .string($0.rawValue) },
            "pinnedFor": entry.pins.ancillary.isEmpty ? nil : .some(entry.pins.json),
            "lastSync": entry.lastSync.map { .string(Timestamp.format($0)) },
            "hits": JSONValue(uses.hits), "misses": JSONValue(uses.misses),
        ])
    }

    /// Of the effective copy: `collection` where it is a list or the collection's rule or the origin says so, `item` for other
    /// JSON, else `file`. A pending delete and "gone" are what they were by their media type.
    private func kind(_ entry: Entry, _ edit: LocalEdit?) async throws -> String {
        let copy = entry.copies.first
        let type = edit?.mediaType ?? copy?.fields["Content-Type"]
        let named = copy?.fields["Oracle-Mobile-Sync-Resource-Type"]?.asciiLowercased
        if edit == nil, let named, ["item", "collection", "file"].contains(named) { return named }
        guard type.flatMap({ MediaType($0) })?.isJSON ?? false else { return "file" }
        let rule = context.settings.current.collection(for: entry.key.target)
        if rule != nil { return "collection" }
        guard let content = edit == nil ? copy?.content : edit?.content else { return "item" }
        return try await context.isList(content, at: entry.key.target) ? "collection" : "item"
    }

    private func json(_ copy: ServerCopy, of entry: Entry) -> JSONValue {
        let settings = context.settings.current
        let timeToLive = Freshness.timeToLive(
            of: copy, policy: entry.policy(under: settings.policies), isShared: entry.key.partition == .none,
            epoch: context.store.epoch, targetedFields: settings.targetedFields, now: context.clock.now)
        return .object(omittingNil: [
            "status": JSONValue(copy.status), "etag": copy.etag.map { .string($0) },
            "lastModified": copy.lastModified.map { .string($0) },
            "mediaType": copy.fields["Content-Type"].map { .string($0) },
            "storedAt": .string(Timestamp.format(copy.responseTime)), "size": JSONValue(copy.content.length),
            "expired": .bool(timeToLive <= 0), "headers": Self.json(Secrets.redacted(copy.fields, settings: settings)),
            "listed": .bool(copy.isListed),
        ])
    }

    /// Of a variant that is not whole: which bytes of it are here, as in Range.
    private static func json(_ parts: PartialCopy) -> JSONValue {
        .object([
            "validator": .string(parts.validator), "size": JSONValue(parts.length), "held": JSONValue(parts.heldLength),
            "ranges": .strings(parts.pieces.map { "\($0.range.lowerBound)-\($0.range.upperBound - 1)" }),
        ])
    }

    private static func json(_ edit: LocalEdit) -> JSONValue {
        .object(omittingNil: [
            "syncState": .string(edit.syncState), "etag": .string(edit.tag),
            "mediaType": edit.mediaType.map { .string($0) },
            "size": edit.content.map { JSONValue($0.length) }, "deleted": .bool(edit.content == nil),
            "baseETag": edit.base.etag.map { .string($0) },
            "operation": .string("/cache/operations/" + edit.operation.text),
        ])
    }
}
