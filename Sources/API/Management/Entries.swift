import CacheCore
import HTTPModel

/// /cache/entry and /cache/entries.
extension ManagementService {
    func entryMethods(_ path: [String]) -> Methods? {
        switch path {
        case ["entry"]: [(.get, entry), (.delete, evict)]
        case ["entry", "policy"]: [(.get, entryPolicy), (.put, setEntryPolicy), (.delete, removeEntryPolicy)]
        case ["entry", "pin"]: [(.get, pin), (.put, setPin), (.delete, removePin)]
        case ["entry", "refresh"]: [(.post, refresh)]
        case ["entries"]: [(.get, entries), (.delete, evictEntries)]
        default: nil
        }
    }

    private static let states = [
        "synced", "pending-create", "pending-update", "pending-patch", "pending-delete", "conflict", "failed",
    ]
    private static let absent = Problem(.notFound, "Nothing is kept for this target in this partition.")

    /// What is shown of an entry; 404 where nothing is kept.
    func entryJSON(_ key: EntryKey) async throws -> JSONValue {
        let stored = try await context.store.entry(key)
        guard stored != nil || context.queue.localEdit(of: key) != nil || context.queue.conflict(of: key) != nil else {
            throw Self.absent
        }
        return json(stored ?? Entry(key: key))
    }

    private func state(_ key: EntryKey) -> String {
        context.queue.localEdit(of: key)?.syncState
            ?? (context.queue.conflict(of: key) == nil ? "synced" : "conflict")
    }

    private func json(_ entry: Entry) -> JSONValue {
        let edit = context.queue.localEdit(of: entry.key)
        let conflict = context.queue.conflict(of: entry.key)
        return .object(omittingNil: [
            "target": .string(entry.key.target.text), "partition": .string(entry.key.partition.text),
            "kind": .string(kind(entry, edit)), "state": .string(state(entry.key)),
            "serverCopy": entry.copies.first.map { Self.json($0) },
            "variants": JSONValue(entry.copies.count),
            "localEdit": edit.map { Self.json($0) },
            "conflict": conflict.map { .string("/cache/conflicts/" + $0.id) },
            "policy": entry.policy.json(), "pin": entry.pin.map { .string($0.rawValue) },
            "lastSync": entry.lastSync.map { .string(Timestamp.format($0)) },
        ])
    }

    private func kind(_ entry: Entry, _ edit: LocalEdit?) -> String {
        let type = edit?.mediaType ?? entry.copies.first?.fields["Content-Type"]
        guard type.flatMap({ MediaType($0) })?.isJSON ?? false else { return "file" }
        return context.settings.current.collection(for: entry.key.target) == nil ? "item" : "collection"
    }

    private static func json(_ copy: ServerCopy) -> JSONValue {
        .object(omittingNil: [
            "status": JSONValue(copy.status), "etag": copy.etag.map { .string($0) },
            "lastModified": copy.lastModified.map { .string($0) },
            "mediaType": copy.fields["Content-Type"].map { .string($0) },
            "storedAt": .string(Timestamp.format(copy.responseTime)), "size": JSONValue(copy.content.length),
            "expired": .bool(copy.isExpired), "listed": .bool(copy.isListed),
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

    @Sendable private func entry(_ call: ManagementCall) async throws -> ManagementReply {
        let key = try call.entryKey()
        var value = try await entryJSON(key)
        if call.access == .full {
            if let copy = try await context.store.entry(key)?.copies.first, !copy.isGone {
                value["serverCopy"]?["path"] = try await path(of: copy.content)
            }
            if let content = context.queue.localEdit(of: key)?.content {
                value["localEdit"]?["path"] = try await path(of: content)
            }
        }
        return .json(value)
    }

    /// Where the bytes lie on disk; nil where they can't be had whole.
    private func path(of content: Content) async throws -> JSONValue? {
        do throws(StoreError) {
            return try await context.store.file(of: content).map { .string($0) }
        } catch {
            if case .corrupt = error { return nil }
            throw error
        }
    }

    private func isBusy(_ key: EntryKey) -> Bool {
        context.queue.lane(of: key) != .empty || context.queue.localEdit(of: key) != nil
            || context.queue.conflict(of: key) != nil
    }

    @Sendable private func evict(_ call: ManagementCall) async throws -> ManagementReply {
        let key = try call.entryKey()
        let discards = try call.flag("discard")
        if isBusy(key) {
            guard discards else {
                throw Problem(
                    .operationsPending, "Queued writes or a conflict need this entry. &discard=true gives them up.")
            }
            try await context.queue.discardAll(of: key)
            if context.queue.conflict(of: key) != nil { try await context.queue.onlineWriteSucceeded(on: key) }
        } else if try await context.store.entry(key) == nil {
            throw Self.absent
        }
        try await context.store.commit([.removeEntry(key)], durable: true)
        return .noContent
    }

    private func filter(_ call: ManagementCall) throws -> EntryFilter {
        EntryFilter(partitions: try call.visiblePartitions(), prefix: call.query["prefix"])
    }

    @Sendable private func entries(_ call: ManagementCall) async throws -> ManagementReply {
        let wanted = call.query["state"]
        if let wanted, !Self.states.contains(wanted) {
            throw Problem(.badRequest, "state is one of \(Self.states.joined(separator: ", ")).")
        }
        let page = try await context.store.entries(
            try filter(call), after: call.query["after"], limit: try call.limit())
        let items = page.items.filter { entry in wanted.map { $0 == state(entry.key) } ?? true }
        return ManagementCall.list(items.map { json($0) }, next: page.next)
    }

    /// Clean entries only; pinned ones stay.
    @Sendable private func evictEntries(_ call: ManagementCall) async throws -> ManagementReply {
        let filter = try filter(call)
        if let wanted = call.query["state"], wanted != "synced" {
            throw Problem(.badRequest, "Only entries in the state synced can be evicted together.")
        }
        var after: String?
        var evicted = 0
        repeat {
            // Few at a time, for a full disk has room for small commits alone.
            let page = try await context.store.entries(filter, after: after, limit: 200)
            let clean = page.items.filter { $0.pin == nil && !isBusy($0.key) }
            if !clean.isEmpty {
                try await context.store.commit(clean.map { .removeEntry($0.key) }, durable: true)
                evicted += clean.count
            }
            after = page.next
        } while after != nil
        return .json(.object(["evicted": JSONValue(evicted)]))
    }
}
