import CacheCore
import HTTPModel

/// The entries of a list under /cache/entries: what the store keeps and what only an edit makes, in one order.
struct EntryListing: Sendable {
    let context: ServiceContext
    let filter: EntryFilter
    /// nil takes all.
    let matches: @Sendable (Entry) -> Bool

    /// A page of at most `limit` entries after the one that `after` names.
    func page(after: String?, limit: Int) async throws -> Page<Entry> {
        var edited = context.queue.editedEntries(of: filter.partitions).filter { key in
            key.target.text.utf8.starts(with: (filter.prefix ?? "").utf8)
                && after.map { Self.isBefore($0, Self.name(key)) } ?? true
        }
        var items: [Entry] = []
        var last = after
        var next = after
        repeat {
            let stored = try await context.store.entries(filter, after: next, limit: limit)
            next = stored.next
            for entry in stored.items { edited.remove(entry.key) }
            let reached = edited.filter { key in next.map { !Self.isBefore($0, Self.name(key)) } ?? true }
            edited.subtract(reached)
            let found = (stored.items + reached.map { Entry(key: $0) })
                .sorted { Self.isBefore(Self.name($0.key), Self.name($1.key)) }
            for entry in found {
                if matches(entry) {
                    if items.count == limit { return Page(items: items, next: last) }
                    items.append(entry)
                }
                last = Self.name(entry.key)
            }
        } while next != nil
        return Page(items: items, next: nil)
    }

    private static func name(_ key: EntryKey) -> String { key.partition.text + " " + key.target.text }

    private static func isBefore(_ one: String, _ other: String) -> Bool {
        one.utf8.lexicographicallyPrecedes(other.utf8)
    }
}

extension ServerCopy {
    /// Whether the origin put the copy into the group: an element of `Cache-Tag` or `Surrogate-Key`, or a name in
    /// `Cache-Groups` (RFC 9875).
    func bears(tag: String) -> Bool {
        let elements =
            fields.values("Cache-Tag").flatMap { FieldList.split($0).map { String($0) } }
            + fields.values("Surrogate-Key").flatMap { $0.split(separator: " ").map { String($0) } }
            + fields.values("Cache-Groups").flatMap { FieldList.split($0).map { FieldList.unquote($0) } }
        return elements.contains { $0.hasSameBytes(as: tag) }
    }
}
