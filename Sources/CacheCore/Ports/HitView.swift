/// Names a hit of the view: partition, route and target. The target's bytes are compared in place.
package struct HitKey {
    package var partition: PartitionID
    package var route: Route
    package var target: UnsafeRawBufferPointer

    package init(partition: PartitionID, route: Route, target: UnsafeRawBufferPointer) {
        self.partition = partition
        self.route = route
        self.target = target
    }
}

/// A prebuilt answer. Immutable, so that loop threads use it without a lock.
package struct PreparedHit: Sendable {
    /// Status line and all fields but Age, Cache-Status and what the connection needs; ends with CRLF of the last field,
    /// without the empty line. The fields that a 304 has too (RFC 9110 15.4.5) come last.
    package var head: [UInt8]
    /// Where in `head` those fields begin: they are kept once for both answers.
    package var notModifiedFrom: Int
    package var body: [UInt8]
    /// Where in `head` the entity tag stands, as sent; empty where there is none.
    package var etag: Range<Int>
    /// Seconds since 1970 at which Age would be 0 (RFC 9111 4.2.3: response time less corrected initial age).
    package var bornAt: Double
    /// Fresh while `now` is below; at or after it the request takes the slow way.
    package var freshUntil: Double
    /// The members of Cache-Status that came from the origin, each with `, ` behind it.
    package var earlierCaches: [UInt8]
    /// Requests must carry exactly these field values (name in lower case, value normalised as by the selecting fields).
    package var selecting: [(name: [UInt8], value: [UInt8])]

    package init(
        head: [UInt8], notModifiedFrom: Int, body: [UInt8], etag: Range<Int>, bornAt: Double, freshUntil: Double,
        earlierCaches: [UInt8] = [], selecting: [(name: [UInt8], value: [UInt8])] = []
    ) {
        self.head = head
        self.notModifiedFrom = notModifiedFrom
        self.body = body
        self.etag = etag
        self.bornAt = bornAt
        self.freshUntil = freshUntil
        self.earlierCaches = earlierCaches
        self.selecting = selecting
    }
}

/// The parts of a prepared hit, lent for the length of a call.
package struct HitParts {
    package var head: UnsafeRawBufferPointer
    /// The last fields of `head`: those of a 304.
    package var notModifiedFields: UnsafeRawBufferPointer
    package var body: UnsafeRawBufferPointer
    package var etag: UnsafeRawBufferPointer
    package var earlierCaches: UnsafeRawBufferPointer
    package var bornAt: Double
    package var freshUntil: Double

    package init(
        head: UnsafeRawBufferPointer, notModifiedFields: UnsafeRawBufferPointer, body: UnsafeRawBufferPointer,
        etag: UnsafeRawBufferPointer, earlierCaches: UnsafeRawBufferPointer, bornAt: Double, freshUntil: Double
    ) {
        self.head = head
        self.notModifiedFields = notModifiedFields
        self.body = body
        self.etag = etag
        self.earlierCaches = earlierCaches
        self.bornAt = bornAt
        self.freshUntil = freshUntil
    }
}

/// How often an entry was asked for since the start.
package struct EntryUses: Sendable, Hashable {
    /// Answered from the view or the store.
    package var hits = 0
    /// For which the origin was asked.
    package var misses = 0

    package init(hits: Int = 0, misses: Int = 0) {
        self.hits = hits
        self.misses = misses
    }

    package static func + (one: EntryUses, other: EntryUses) -> EntryUses {
        EntryUses(hits: one.hits + other.hits, misses: one.misses + other.misses)
    }
}

/// The in-memory part of a store from which hits are answered without touching the disk (design 1, "view"). Sharded; safe
/// from all loop threads at once. A few variants a key.
package protocol HitView: Sendable {
    /// Lends the hit of the key to `body`, outside any lock; false where there is none (or what `body` returns). Of variants the one
    /// that `selects`, which gets `name 0x00 value 0x00` for each selecting field (nothing where nothing varies) and has to be quick.
    func withHit(
        _ key: HitKey, selects: (UnsafeRawBufferPointer) -> Bool, _ body: (HitParts) -> Bool
    ) -> Bool

    /// Taken before the entry is read; makes `publish` void where the entry has been changed meanwhile.
    func ticket(_ key: EntryKey) -> UInt64

    /// Whether a hit of the key is worth its room: there is some, or the key was asked for more than once of late. What is asked for once
    /// would push out what others ask for, and preparing it costs as much as answering it.
    func isWorthRoom(_ key: EntryKey) -> Bool

    /// Offers a hit. Ignored where the ticket is no longer valid or the hit is too large for the view.
    func publish(_ hit: PreparedHit, for key: EntryKey, route: Route, ticket: UInt64)

    /// Forgets what is prepared for the target under both routes. Called by the store for every commit that touches the entry
    /// or an operation of its lane, before the commit is answered.
    func invalidate(_ key: EntryKey)

    /// Whether the target was answered from here, under either route, since this was asked last. For the store, which sees nothing
    /// of such hits: it evicts what is used least.
    func takeUse(of key: EntryKey) -> Bool

    /// Counts reads that were not answered from here; what `withHit` has lent counts by itself, where `body` returned true.
    func note(_ uses: EntryUses, of key: EntryKey)

    /// Under either route. Entries that were not asked for while many others were begin anew.
    func uses(of key: EntryKey) -> EntryUses

    /// What the hits take in memory, in bytes.
    var bytes: Int64 { get }

    /// Forgets everything (policies changed).
    func invalidateAll()
}
