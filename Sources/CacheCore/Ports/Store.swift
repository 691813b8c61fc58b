package import HTTPModel

/// Why a store refused or failed. The composition and the API turn them into problems in one place.
package enum StoreError: Error, Sendable, Hashable {
    /// Over `maxStoreSize`, or the disk is full, after evictable copies made room. Nothing of the change was kept.
    case full
    /// The body is larger than the store may ever hold.
    case tooLarge
    /// Reading or writing failed; `reason` for the log, without paths.
    case failed(reason: String)
    /// The bytes on disk are not those that were stored.
    case corrupt(reason: String)
    case closed
    /// The store that has the target is detached or stopped.
    case detached
    /// Another process that has the store open has changed the operation meanwhile. Nothing of the change was kept.
    case outdated
    /// A side of a mirrored store failed. Nothing of the change was kept.
    indirect case side(StoreSide, StoreError)
    /// The primary side has taken all of the change and keeps it; the mirror has not.
    indirect case mirrorFailed(StoreError)
    /// Several stores failed at their parts of one change; the first one says how it is answered. Never empty.
    case several([StoreFailure])

    /// Whether what was to be read is lost. Other failures to read may pass: of a disk, for want of descriptors.
    package var isLoss: Bool {
        switch self {
        case .corrupt: true
        case .side(_, let error): error.isLoss
        default: false
        }
    }

    /// Whether all of the change is kept nonetheless.
    package var isAccepted: Bool {
        switch self {
        case .mirrorFailed: true
        case .several(let failures): failures.allSatisfy(\.error.isAccepted)
        default: false
        }
    }
}

/// What a store failed with, by its name.
package struct StoreFailure: Sendable, Hashable {
    package var store: String
    package var error: StoreError

    package init(store: String, error: StoreError) {
        self.store = store
        self.error = error
    }
}

extension StoreError: CustomStringConvertible {
    /// For the log, and for who starts the service.
    package var description: String {
        switch self {
        case .full: "the store or the disk is full"
        case .tooLarge: "the body is larger than the store may hold"
        case .failed(let reason), .corrupt(let reason): reason
        case .closed: "the store is closed"
        case .detached: "the store is detached"
        case .outdated: "another process has changed the operation"
        case .side(let side, let error): "\(side.rawValue): \(error)"
        case .mirrorFailed(let error): "mirror: \(error)"
        case .several(let failures): failures.map { "\($0.store): \($0.error)" }.joined(separator: "; ")
        }
    }
}

/// A side of a mirrored store (design 11).
package enum StoreSide: String, Sendable, Hashable { case primary, mirror }

/// What bytes are for: operations may use the last tenth of the store, copies may not (design 4).
package enum ContentPurpose: Sendable, Hashable { case copy, operation }

/// Takes bytes into the store piece by piece, in constant memory. One caller at a time.
package protocol BodyWriter: AnyObject, Sendable {
    func append(_ piece: [UInt8]) async throws(StoreError)
    /// Makes the bytes addressable. For large ones the file and its folder are on disk when this returns. The content stays
    /// while a copy of the value lives, and as long as what was committed refers to it.
    func finish() async throws(StoreError) -> Content
    /// Bytes that were appended, for who reads a body that is still arriving; also after `finish`. Callable from any task.
    func written(_ range: Range<Int64>) async throws(StoreError) -> [UInt8]
    /// Gives up; nothing stays.
    func discard()
}

/// An answer (or unknown outcome) of an online write, kept under its Idempotency-Key for `receiptRetention`.
package struct KeyRecord: Sendable, Hashable {
    package var partition: PartitionID
    package var key: String
    package var fingerprint: Digest
    package var method: HTTPMethod
    package var target: Target
    /// nil: sent, no answer came (504 `outcome-unknown`).
    package var answer: KeptAnswer?
    /// What the target was before, for the look that decides an unknown outcome.
    package var base: Base
    package var at: Double

    package init(
        partition: PartitionID, key: String, fingerprint: Digest, method: HTTPMethod, target: Target,
        answer: KeptAnswer?, base: Base, at: Double
    ) {
        self.partition = partition
        self.key = key
        self.fingerprint = fingerprint
        self.method = method
        self.target = target
        self.answer = answer
        self.base = base
        self.at = at
    }
}

/// What became of a temporary target: the real one, or nil where the create was deleted here or the origin named none (410).
package struct TargetAlias: Sendable, Hashable {
    package var partition: PartitionID
    package var temporary: Target
    package var real: Target?

    package init(partition: PartitionID, temporary: Target, real: Target?) {
        self.partition = partition
        self.temporary = temporary
        self.real = real
    }
}

/// One change of a commit. What is large lies apart: changes are handed on in arrays, and most are of operations.
package enum StoreChange: Sendable {
    /// Stores a copy, in place of the one with equal selecting fields; sets lastSync to its responseTime.
    indirect case putCopy(EntryKey, ServerCopy)
    /// Stores a copy that a list gave, as `Entry.take(listed:)` has it.
    indirect case putListed(EntryKey, ServerCopy)
    /// A whole list lacks what else is kept as a member of the collection with that path: `Entry.drop(gone:)`.
    indirect case dropMembers(PartitionID, path: String, except: Set<Target>, gone: ServerCopy?)
    /// Stores parts of a copy (see `Entry.keep`), and sets lastSync likewise. `putCopy` removes them.
    indirect case putParts(EntryKey, PartialCopy)
    /// Removes the parts with these selecting fields.
    case removeParts(EntryKey, selecting: [HTTPField])
    /// Marks every copy of the entry expired; removes none. Parts go.
    case expire(EntryKey)
    /// Marks expired all entries of the partition whose target has that path, whatever their query.
    case expirePath(PartitionID, path: String)
    /// Removes all copies (policy and pin too where `all`). Clean-up of what nobody needs; the caller has checked for edits.
    case removeEntry(EntryKey)
    /// Removes the copies of an entry as eviction does, unless it is pinned, an unfinished operation or an open conflict speaks of
    /// it, or the origin confirmed a copy at or after that time (seconds since 1970): `Entry.goes`.
    case evict(EntryKey, ifOlderThan: Double)
    indirect case setPolicy(EntryKey, PolicyLayer)
    /// `for`: what led to the entry (`Pins`); nil: the entry itself.
    case setPin(EntryKey, PinPriority?, for: Target? = nil)
    /// Inserts or replaces by id.
    case putOperation(Operation)
    /// Inserts or replaces by id.
    indirect case putConflict(Conflict)
    indirect case putKeyRecord(KeyRecord)
    case removeKeyRecord(PartitionID, key: String)
    case putAlias(TargetAlias)
    /// Hands everything of one partition to another (adopt).
    case movePartition(from: PartitionID, to: PartitionID)
}

/// What the in-memory queue starts from.
package struct QueueImage: Sendable {
    /// Unfinished operations in order of sequence.
    package var operations: [Operation]
    /// Conflicts that are not closed.
    package var conflicts: [Conflict]
    package var aliases: [TargetAlias]
    /// The highest sequence ever given.
    package var lastSequence: Int64

    package init(operations: [Operation], conflicts: [Conflict], aliases: [TargetAlias], lastSequence: Int64) {
        self.operations = operations
        self.conflicts = conflicts
        self.aliases = aliases
        self.lastSequence = lastSequence
    }

    package static let empty = QueueImage(operations: [], conflicts: [], aliases: [], lastSequence: 0)
}

/// Sizes in bytes.
package struct StoreUsage: Sendable, Hashable {
    package var copies: Int64
    package var operations: Int64
    package var limit: Int64
    package var entries: Int64
    /// How many operations are not final.
    package var unfinished: Int
    /// What the view takes in memory.
    package var viewBytes: Int64
    /// Bodies that were set aside because their bytes are not those that were stored, and were not stored anew since.
    package var damagedBodies: Int
    /// Whether the last attempt to write failed for the store as a whole: a full disk, a broken one.
    package var isFailing: Bool
    /// Sides of mirrored stores that are left out, because they can't be used.
    package var sidesOut = 0
    /// Failures of sides of mirrored stores since they were opened.
    package var sideFailures: Int64 = 0

    package init(
        copies: Int64, operations: Int64, limit: Int64, entries: Int64, unfinished: Int = 0, viewBytes: Int64,
        damagedBodies: Int = 0, isFailing: Bool = false
    ) {
        self.copies = copies
        self.operations = operations
        self.limit = limit
        self.entries = entries
        self.unfinished = unfinished
        self.viewBytes = viewBytes
        self.damagedBodies = damagedBodies
        self.isFailing = isFailing
    }
}

/// One page of a list: items in order of their name, and what to pass as `after` for the next page.
package struct Page<Item: Sendable>: Sendable {
    package var items: [Item]
    package var next: String?

    package init(items: [Item], next: String?) {
        self.items = items
        self.next = next
    }
}

/// Which entries a list asks for. nil does not filter.
package struct EntryFilter: Sendable {
    /// The partitions to show.
    package var partitions: [PartitionID]?
    /// Start of the target.
    package var prefix: String?

    package init(partitions: [PartitionID]? = nil, prefix: String? = nil) {
        self.partitions = partitions
        self.prefix = prefix
    }
}

/// Where entries, operations and conflicts live. Asynchronous throughout: the store may be remote. Nothing here assumes a
/// file. Callable from any task; calls of one caller take effect in their order.
package protocol Store: Sendable {
    /// Counts starts of this store; see `ServerCopy.epoch`.
    var epoch: Int64 { get }
    /// Secret of the store for keyed hashes of identities (32 bytes, made once).
    var partitionKey: [UInt8] { get }
    /// The secret of the store that has the target: another store's partitions mean nothing in it.
    func partitionKey(of target: Target) -> [UInt8]
    /// Which store has the target at this moment, and whether it lets anything in.
    func place(of target: Target) -> StorePlace

    /// Whether this process delivers what waits for the target; false where another process that has the store open does.
    func delivers(_ target: Target) -> Bool
    /// The next place in the order of acceptance behind `last`, which no other process that has the store open gives.
    func sequence(after last: Int64, for target: Target) -> Int64

    /// Applies all changes or none. With `durable`, returns only when they survive kill -9 and power loss; without, they are
    /// applied and written behind. Changes of copies may evict other copies to make room.
    func commit(_ changes: [StoreChange], durable: Bool) async throws(StoreError)

    func entry(_ key: EntryKey) async throws(StoreError) -> Entry?
    /// Whether it is known without a look that there is no such entry; false where a look has to tell.
    func isAbsent(_ key: EntryKey) -> Bool
    func entries(_ filter: EntryFilter, after: String?, limit: Int) async throws(StoreError) -> Page<Entry>
    func partitions() async throws(StoreError) -> [(id: PartitionID, entries: Int64)]

    func loadQueue() async throws(StoreError) -> QueueImage
    /// Any operation, finished ones within `receiptRetention` too.
    func operation(_ id: OperationID) async throws(StoreError) -> Operation?
    /// The newest operation that has the key as its own or a merged one.
    func operation(partition: PartitionID, key: String) async throws(StoreError) -> Operation?
    func operations(
        partitions: [PartitionID]?, states: [OperationState]?, after: String?, limit: Int
    ) async throws(StoreError) -> Page<Operation>
    func conflict(_ id: String) async throws(StoreError) -> Conflict?
    func conflicts(
        partitions: [PartitionID]?, open: Bool, after: String?, limit: Int
    ) async throws(StoreError) -> Page<Conflict>
    func keyRecord(partition: PartitionID, key: String) async throws(StoreError) -> KeyRecord?

    /// Begins a body. `length` where it is known: refused at once with `.full` or `.tooLarge` where it can't fit.
    func makeBody(for purpose: ContentPurpose, length: Int64?) async throws(StoreError) -> any BodyWriter
    /// The same for what will be kept with the target, in the store that has it.
    func makeBody(for purpose: ContentPurpose, at target: Target, length: Int64?) async throws(StoreError)
        -> any BodyWriter
    /// The content of bytes in memory that are few enough to travel with their row; nil where they need a body. `target`: what it will be
    /// kept with, where that is known.
    func makeShort(_ bytes: [UInt8], for purpose: ContentPurpose, at target: Target?) async throws(StoreError)
        -> Content?
    /// Whether the bytes lie in this store, so that a commit may refer to them. Inline ones need no place.
    func holds(_ content: Content) -> Bool
    /// Reads a stored body, or a part of it, piece by piece.
    func read(_ content: Content, range: Range<Int64>?) async throws(StoreError) -> any BodySource
    /// Where a file with the bytes lies on this host, never to be changed; nil where the store has no files.
    func file(of content: Content) async throws(StoreError) -> String?

    /// Begins a query of a list's members, in bounded memory however many there are.
    func select(_ query: MemberQuery) async throws(StoreError) -> any MemberSelection

    /// Begins to take entries in, all or none.
    func intake() async throws(StoreError) -> any EntryIntake

    /// How many bodies there are to be examined, as `StoreExamining` has it.
    func bodyCount() async throws(StoreError) -> Int64
    /// Compares bodies with their digests, likewise.
    func examine(after place: String?) async throws(StoreError) -> BodyExamination

    func usage() async -> StoreUsage
    /// Writes behind what is not yet on disk.
    func save() async throws(StoreError)
    /// Saves copies as the mode has it (design 11); false where it saves nothing for this reason.
    func save(for reason: SaveReason) async throws(StoreError) -> Bool
    /// Takes another mode up: `initialized` begins with an empty cache, `automatic` takes all that is there as saved.
    func setMode(_ mode: CacheMode) async throws(StoreError)
    /// Saves, then closes files and threads.
    func close() async
}

// A store that is alone has every target and every body. One that forgets its copies has nothing to save, and what is in memory
// no bodies to examine.
extension Store {
    package func save(for reason: SaveReason) async throws(StoreError) -> Bool {
        try await save()
        return false
    }
    package func setMode(_ mode: CacheMode) async throws(StoreError) {}
    package func bodyCount() async throws(StoreError) -> Int64 { 0 }
    package func examine(after place: String?) async throws(StoreError) -> BodyExamination { BodyExamination() }
    package func intake() async throws(StoreError) -> any EntryIntake { GatheredIntake(self) }

    package func isAbsent(_ key: EntryKey) -> Bool { false }
    package func partitionKey(of target: Target) -> [UInt8] { partitionKey }
    package func place(of target: Target) -> StorePlace { .alone }
    package func holds(_ content: Content) -> Bool { true }
    package func makeShort(
        _ bytes: [UInt8], for purpose: ContentPurpose, at target: Target?
    ) async throws(StoreError) -> Content? { nil }
    package func delivers(_ target: Target) -> Bool { true }
    package func sequence(after last: Int64, for target: Target) -> Int64 { last + 1 }

    package func makeBody(
        for purpose: ContentPurpose, at target: Target, length: Int64?
    ) async throws(StoreError) -> any BodyWriter {
        try await makeBody(for: purpose, length: length)
    }
}

extension Store {
    /// The entry; where it is known to be absent, without a turn of the store's.
    package func entryIfKept(_ key: EntryKey) async throws(StoreError) -> Entry? {
        isAbsent(key) ? nil : try await entry(key)
    }

    /// Stores bytes that are in memory.
    package func makeContent(_ bytes: [UInt8], for purpose: ContentPurpose) async throws(StoreError) -> Content {
        if let short = try await makeShort(bytes, for: purpose, at: nil) { return short }
        return try await fill(try await makeBody(for: purpose, length: Int64(bytes.count)), with: bytes)
    }

    /// The same for what will be kept with the target.
    package func makeContent(
        _ bytes: [UInt8], for purpose: ContentPurpose, at target: Target
    ) async throws(StoreError) -> Content {
        if let short = try await makeShort(bytes, for: purpose, at: target) { return short }
        return try await fill(try await makeBody(for: purpose, at: target, length: Int64(bytes.count)), with: bytes)
    }

    private func fill(_ writer: any BodyWriter, with bytes: [UInt8]) async throws(StoreError) -> Content {
        do {
            try await writer.append(bytes)
            return try await writer.finish()
        } catch {
            writer.discard()
            throw error
        }
    }

    /// The first bytes of a stored body, `length` at most.
    package func start(of content: Content, length: Int64) async throws(StoreError) -> [UInt8] {
        if let inline = content.inline { return Array(inline.prefix(Int(length))) }
        let source = try await read(content, range: 0..<min(length, content.length))
        defer { source.cancel() }
        do {
            return try await source.next() ?? []
        } catch let error as StoreError {
            throw error
        } catch {
            throw .failed(reason: "a stored body could not be read")
        }
    }

    /// A stored body as a whole, for JSON; `.tooLarge` above `limit` bytes.
    package func bytes(of content: Content, limit: Int64) async throws(StoreError) -> [UInt8] {
        if let inline = content.inline { return inline }
        guard content.length <= limit else { throw .tooLarge }
        let source = try await read(content, range: nil)
        var all: [UInt8] = []
        all.reserveCapacity(Int(content.length))
        do {
            while let piece = try await source.next() { all += piece }
        } catch let error as StoreError {
            throw error
        } catch {
            throw .failed(reason: "a stored body could not be read")
        }
        return all
    }
}
