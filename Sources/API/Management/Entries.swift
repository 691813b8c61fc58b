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

    private static let absent = Problem(.notFound, "Nothing is kept for this target in this partition.")

    /// What is shown of an entry; 404 where nothing is kept.
    func entryJSON(_ key: EntryKey) async throws -> JSONValue {
        let stored = try await context.store.entry(key)
        guard stored != nil || context.queue.localEdit(of: key) != nil || context.queue.conflict(of: key) != nil else {
            throw Self.absent
        }
        return try await json(stored ?? Entry(key: key))
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
        let force = try call.flag("force")
        if isBusy(key) {
            guard discards else {
                throw Problem(
                    .operationsPending, "Queued writes or a conflict need this entry. &discard=true gives them up.")
            }
            try await context.queue.discardAll(of: key, force: force)
            if context.queue.conflict(of: key) != nil { try await context.queue.onlineWriteSucceeded(on: key) }
        } else if try await context.store.entry(key) == nil {
            throw Self.absent
        }
        try await context.store.commit([.removeEntry(key)], durable: true)
        context.events.emit(.entry(key, state: "synced", deleted: true))
        return .noContent
    }

    private func filter(_ call: ManagementCall) throws -> EntryFilter {
        EntryFilter(partitions: try call.visiblePartitions(), prefix: call.query["prefix"])
    }

    /// Whether an entry is in the state and the group that the call asks for.
    private func matching(_ call: ManagementCall) -> @Sendable (Entry) -> Bool {
        let wanted = call.query["state"]
        let tag = call.query["tag"]
        return { entry in
            (wanted.map { $0 == context.state(of: entry) } ?? true)
                && tag.map { tag in entry.copies.contains { $0.bears(tag: tag) } } ?? true
        }
    }

    @Sendable private func entries(_ call: ManagementCall) async throws -> ManagementReply {
        if let wanted = call.query["state"], !Self.states.contains(wanted) {
            throw Problem(.badRequest, "state is one of \(Self.states.joined(separator: ", ")).")
        }
        let page = try await EntryListing(context: context, filter: try filter(call), matches: matching(call))
            .page(after: try call.query["after"].map { try Self.place($0) }, limit: try call.limit())
        var items: [JSONValue] = []
        for entry in page.items { items.append(try await json(entry)) }
        return ManagementCall.list(items, next: page.next.map { Base64.encodeURL($0.utf8) })
    }

    /// Where a page begins: `next` of the one before, in which no character has to be encoded in a query.
    private static func place(_ next: String) throws -> String {
        guard let bytes = Base64.decodeURL(next), let place = String(validating: bytes, as: UTF8.self) else {
            throw Problem(.badRequest, "after is next of the page before.")
        }
        return place
    }

    /// Clean entries only; pinned ones stay.
    @Sendable private func evictEntries(_ call: ManagementCall) async throws -> ManagementReply {
        let filter = try filter(call)
        if let wanted = call.query["state"], wanted != "synced", wanted != "listed" {
            throw Problem(.badRequest, "Only entries in the state synced or listed can be evicted together.")
        }
        let matches = matching(call)
        var after: String?
        var evicted = 0
        repeat {
            // Few at a time, for a full disk has room for small commits alone.
            let page = try await context.store.entries(filter, after: after, limit: 200)
            let clean = page.items.filter { $0.pin == nil && !isBusy($0.key) && matches($0) }
            if !clean.isEmpty {
                try await context.store.commit(clean.map { .removeEntry($0.key) }, durable: true)
                evicted += clean.count
                for entry in clean { context.events.emit(.entry(entry.key, state: "synced", deleted: true)) }
            }
            after = page.next
        } while after != nil
        return .json(.object(["evicted": JSONValue(evicted)]))
    }
}
