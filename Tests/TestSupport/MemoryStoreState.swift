import CacheCore
import HTTPModel

extension MemoryStore.State {
    /// Applies one change; `touched` gains the entries whose hits are no longer right.
    mutating func apply(_ change: StoreChange, touched: inout Set<EntryKey>) {
        switch change {
        case .putCopy(let key, let copy):
            entries[key, default: Entry(key: key)].keep(copy)
            touched.insert(key)
        case .putParts(let key, let parts):
            entries[key, default: Entry(key: key)].keep(parts)
            touched.insert(key)
        case .removeParts(let key, let selecting):
            entries[key]?.parts.removeAll { $0.head.selecting == selecting }
            touched.insert(key)
        case .putListed(let key, let copy):
            var entry = entries[key] ?? Entry(key: key)
            if entry.take(listed: copy) { entries[key] = entry }
            touched.insert(key)
        case .dropMembers(let partition, let path, let kept, let gone):
            for (key, var entry) in entries
            where key.partition == partition && key.target.isMember(ofPath: path) && !kept.contains(key.target) {
                if entry.drop(gone: gone) { entries[key] = entry }
                touched.insert(key)
            }
        case .expire(let key):
            entries[key]?.expire()
            touched.insert(key)
        case .expirePath(let partition, let path):
            for key in entries.keys where key.partition == partition && key.target.path == path {
                entries[key]?.expire()
                touched.insert(key)
            }
        case .removeEntry(let key):
            entries[key] = nil
            touched.insert(key)
        case .evict(let key, let time):
            guard let entry = entries[key], entry.goes(ifOlderThan: time) else { break }
            entries[key] = entry.withoutCopies
            touched.insert(key)
        case .setPolicy(let key, let policy):
            entries[key, default: Entry(key: key)].policy = policy
            touched.insert(key)
        case .setPin(let key, let pin, let source):
            entries[key, default: Entry(key: key)].pins[source] = pin
            touched.insert(key)
        case .putOperation(let operation):
            operations[operation.id] = operation
            touched.formUnion(operation.shownIn)
        case .putConflict(let conflict):
            conflicts[conflict.id] = conflict
            touched.insert(conflict.key)
        case .putKeyRecord(let record):
            records[.init(partition: record.partition, key: record.key)] = record
        case .removeKeyRecord(let partition, let key):
            records[.init(partition: partition, key: key)] = nil
        case .putAlias(let alias):
            aliases[EntryKey(partition: alias.partition, target: alias.temporary)] = alias
        case .movePartition(let from, let to):
            move(from, to, touched: &touched)
        }
    }

    private mutating func move(_ from: PartitionID, _ to: PartitionID, touched: inout Set<EntryKey>) {
        guard from != to else { return }
        for (key, entry) in entries where key.partition == from {
            let moved = EntryKey(partition: to, target: key.target)
            var result = entries[moved] ?? Entry(key: moved)
            if result.copies.isEmpty {
                result.copies = entry.copies
                result.parts = entry.parts
                result.lastSync = entry.lastSync
            }
            if result.policy.isEmpty { result.policy = entry.policy }
            result.pins = result.pins.joined(with: entry.pins)
            entries[moved] = result
            entries[key] = nil
            touched.formUnion([key, moved])
        }
        for (id, var operation) in operations where operation.partition == from {
            touched.insert(operation.lane)
            operation.partition = to
            touched.insert(operation.lane)
            operations[id] = operation
        }
        for (id, var conflict) in conflicts where conflict.key.partition == from {
            touched.insert(conflict.key)
            conflict.key = EntryKey(partition: to, target: conflict.key.target)
            touched.insert(conflict.key)
            conflicts[id] = conflict
        }
        for (key, var record) in records where key.partition == from {
            record.partition = to
            records[key] = nil
            records[.init(partition: to, key: record.key)] = record
        }
        for (key, var alias) in aliases where key.partition == from {
            alias.partition = to
            aliases[key] = nil
            aliases[EntryKey(partition: to, target: key.target)] = alias
        }
    }
}
