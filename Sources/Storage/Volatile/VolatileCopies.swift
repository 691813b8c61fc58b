import CacheCore
import HTTPModel

/// Entries in memory, with what they take and when they were last used. A value, changed under its owner's lock.
struct VolatileCopies {
    private(set) var entries: [EntryKey: Entry] = [:]
    /// Bytes of all entries, their bodies included.
    private(set) var size: Int64 = 0
    private var used: [EntryKey: UInt64] = [:]
    private var uses: UInt64 = 0
    private let limit: Int64

    /// `limit` in bytes.
    init(limit: Int64) { self.limit = limit }

    mutating func find(_ key: EntryKey) -> Entry? {
        guard let entry = entries[key] else { return nil }
        noteUse(of: key)
        return entry
    }

    private mutating func noteUse(of key: EntryKey) {
        uses += 1
        used[key] = uses
    }

    /// Applies the changes that are about entries; those that `isBusy` tells of keep their copies. What they touched.
    mutating func apply(_ changes: [StoreChange], isBusy: (EntryKey) -> Bool) -> Set<EntryKey> {
        var touched: Set<EntryKey> = []
        for change in changes {
            switch change {
            case .putCopy(let key, let copy):
                touched.insert(key)
                self.change(key) { $0.keep(copy) }
            case .putParts(let key, let parts):
                touched.insert(key)
                self.change(key) { $0.keep(parts) }
            case .removeParts(let key, let selecting):
                touched.insert(key)
                changeCopies(of: key) { entry in
                    entry.parts.removeAll { $0.head.selecting == selecting }
                    return true
                }
            case .putListed(let key, let copy):
                touched.insert(key)
                changeCopies(of: key, orNew: true) { $0.take(listed: copy) }
            case .dropMembers(let partition, let path, let kept, let gone):
                let members = entries.keys.filter {
                    $0.partition == partition && $0.target.isMember(ofPath: path) && !kept.contains($0.target)
                }
                for key in members { changeCopies(of: key) { $0.drop(gone: gone) } }
                touched.formUnion(members)
            case .expire(let key): touched.formUnion(expire([key]))
            case .expirePath(let partition, let path):
                touched.formUnion(
                    expire(
                        entries.keys.filter {
                            $0.partition == partition && $0.target.path.utf8.elementsEqual(path.utf8)
                        }))
            case .removeEntry(let key):
                touched.insert(key)
                set(nil, for: key)
            case .evict(let key, let time):
                guard let entry = entries[key], entry.goes(ifOlderThan: time), !isBusy(key) else { continue }
                touched.insert(key)
                set(entry.withoutCopies, for: key)
            case .setPolicy(let key, let policy):
                touched.insert(key)
                self.change(key) { $0.policy = policy }
            case .setPin(let key, let pin, let source):
                touched.insert(key)
                self.change(key) { $0.pins[source] = pin }
            case .movePartition(let source, let destination): touched.formUnion(move(from: source, to: destination))
            case .putOperation(let operation): touched.formUnion(operation.shownIn)
            case .putConflict(let conflict): touched.insert(conflict.key)
            case .putKeyRecord, .removeKeyRecord, .putAlias: break
            }
        }
        return touched
    }

    private mutating func change(_ key: EntryKey, _ body: (inout Entry) -> Void) {
        var entry = entries[key] ?? Entry(key: key)
        body(&entry)
        set(entry, for: key)
        noteUse(of: key)
    }

    /// Changes an entry where `change` says that it did; makes one only where `orNew`.
    private mutating func changeCopies(of key: EntryKey, orNew: Bool = false, _ change: (inout Entry) -> Bool) {
        guard var entry = entries[key] ?? (orNew ? Entry(key: key) : nil), change(&entry) else { return }
        self.change(key) { $0 = entry }
    }

    private mutating func set(_ entry: Entry?, for key: EntryKey) {
        if let old = entries[key] { size -= old.bytesInMemory }
        entries[key] = entry
        size += entry?.bytesInMemory ?? 0
        if entry == nil { used[key] = nil }
    }

    private mutating func expire(_ keys: [EntryKey]) -> [EntryKey] {
        for key in keys where entries[key] != nil {
            change(key) { $0.expire() }
        }
        return keys
    }

    private mutating func move(from source: PartitionID, to destination: PartitionID) -> [EntryKey] {
        let moving = entries.values.filter { $0.key.partition == source }
        for entry in moving where source != destination {
            set(nil, for: entry.key)
            change(EntryKey(partition: destination, target: entry.key.target)) { $0.adopt(entry) }
        }
        return moving.flatMap { [$0.key, EntryKey(partition: destination, target: $0.key.target)] }
    }

    /// Whether `bytes` more fit once what may go is gone; where something must, a little more goes, so that the next ones fit too.
    /// `view` tells which were used without being asked for here.
    mutating func makeRoom(
        for bytes: Int64, isBusy: (EntryKey) -> Bool, under policies: PolicyTable, view: (any HitView)?
    ) -> (fits: Bool, gone: [EntryKey]) {
        guard size + bytes > limit else { return (true, []) }
        for key in entries.keys where view?.takeUse(of: key) ?? false { noteUse(of: key) }
        var gone: [EntryKey] = []
        for (key, _) in used.sorted(by: { $0.value < $1.value }) where size + bytes > limit - limit / 64 {
            guard let entry = entries[key], entry.isEvictable(under: policies), !isBusy(key) else { continue }
            set(nil, for: key)
            gone.append(key)
        }
        return (size + bytes <= limit, gone)
    }
}

extension Entry {
    fileprivate var bytesInMemory: Int64 {
        let held = parts.reduce(Int64(256 + key.target.text.utf8.count)) { $0 + $1.heldLength }
        return (copies + parts.map(\.head)).reduce(held) { sum, copy in
            copy.fields.reduce(sum + copy.content.length + 128) {
                $0 + Int64($1.name.utf8.count + $1.value.utf8.count + 64)
            }
        }
    }
}
