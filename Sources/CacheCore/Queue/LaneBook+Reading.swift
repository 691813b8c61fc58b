import HTTPModel

extension LaneBook {
    /// The unfinished operations of the lane in order.
    func lane(_ key: EntryKey) -> [Operation] { (lanes[key] ?? []).compactMap { operations[$0] } }

    /// The unfinished operation that a repeat under the key means.
    func operation(under key: Name) -> Operation? {
        if let id = keys[key] { return operations[id] }
        guard let operation = IDs.operation(ofKey: key.text).flatMap({ operations[$0] }),
            operation.partition == key.partition, operation.keys.contains(key.text)
        else { return nil }
        return operation
    }

    /// The last operation of the lane, but for `excluded`, that makes an effective copy.
    func lastEdit(of key: EntryKey, but excluded: OperationID? = nil) -> Operation? {
        edits(of: key).last { $0 != excluded }.flatMap { operations[$0] }
    }

    /// The operations of the lane that make effective copies, in order.
    private func edits(of key: EntryKey) -> [OperationID] { editsAmongActions[key] ?? lanes[key] ?? [] }

    /// What shows for the entry, where an edit does.
    func localEdit(of key: EntryKey) -> LocalEdit? {
        guard let last = lastEdit(of: key) else { return nil }
        let stopped = stopped[key]?.first.flatMap { operations[$0] }
        return LocalEdit(
            syncState: stopped?.state.rawValue ?? Self.syncState(of: last), content: last.effective,
            mediaType: last.effectiveType, coding: last.effectiveCoding, tag: last.tag, base: last.base,
            operation: last.id, conflictID: stopped?.conflictID ?? conflictsByEntry[key]?.last)
    }

    /// The entries of the partitions (nil: of all) where an edit shows.
    func editedEntries(of partitions: [PartitionID]?) -> Set<EntryKey> {
        Set(lanes.keys.filter { (partitions?.contains($0.partition) ?? true) && lastEdit(of: $0) != nil })
    }

    /// Whether an edit shows for any entry of the partition.
    func hasEdits(of partition: PartitionID) -> Bool { partitionEdits[partition] != nil }

    /// Whether an edit shows for a member of the collection with that path.
    func hasEdits(ofMembersAt path: Substring, of partition: PartitionID) -> Bool {
        guard !memberEdits.isEmpty else { return false }
        let whole = path.utf8.last == UInt8(ascii: "/") ? path.dropLast() : path
        return memberEdits[EntryKey(partition: partition, target: Target(unchecked: String(whole)))] != nil
    }

    private static func syncState(of operation: Operation) -> String {
        if operation.kind == .create { return "pending-create" }
        switch operation.method {
        case .delete: return "pending-delete"
        case .patch: return "pending-patch"
        default: return "pending-update"
        }
    }

    /// The first operation behind this one in its lane that makes an effective copy.
    func nextEdit(after operation: Operation) -> Operation? {
        for id in edits(of: operation.lane) {
            if let other = operations[id], operation.precedes(other) { return other }
        }
        return nil
    }

    /// The last before this one in its lane that makes one.
    func lastEdit(before operation: Operation) -> Operation? {
        for id in edits(of: operation.lane).reversed() {
            if let other = operations[id], other.precedes(operation) { return other }
        }
        return nil
    }

    /// Whether an earlier operation of its lane, or one it depends on, has stopped or waits for a credential.
    func isBehindStopped(_ operation: Operation) -> Bool {
        let before = [lanes[operation.lane]?.first, stopped[operation.lane]?.first].compactMap { $0 }
        return (before + operation.dependsOn).contains { id in
            guard id != operation.id, let other = operations[id],
                other.state.isStopped || other.reason == Reason.credential
            else { return false }
            return other.lane != operation.lane || other.precedes(operation)
        }
    }

    func status(of key: EntryKey) -> LaneStatus {
        guard let id = lanes[key]?.first, let head = operations[id] else { return .empty }
        return head.state.isStopped ? .stopped(id) : .active
    }

    func conflict(of key: EntryKey) -> Conflict? {
        conflictsByEntry[key]?.last.flatMap { openConflicts[$0] }
    }

    func conflicts(of key: EntryKey) -> [Conflict] {
        (conflictsByEntry[key] ?? []).compactMap { openConflicts[$0] }
    }

    var counts: QueueCounts {
        QueueCounts(
            pending: tallies[.pending] ?? 0, sending: tallies[.sending] ?? 0, unknown: tallies[.unknown] ?? 0,
            failed: tallies[.failed] ?? 0, conflict: tallies[.conflict] ?? 0, openConflicts: openConflicts.count)
    }

    /// Follows the aliases of all temporary segments in the path: of the target itself and of what it lies under.
    func resolve(_ target: Target, of partition: PartitionID) -> ResolvedTarget {
        guard !aliases.isEmpty, TemporaryTarget.mayOccur(in: target.text) else { return .itself }
        var text = target.text
        var hasMoved = false
        // Each round replaces one temporary segment by a real target; a path has few of them.
        rounds: for _ in 0..<16 {
            for id in TemporaryTarget.ids(in: text) {
                guard let alias = aliases[Name(id, of: partition)] else { continue }
                // The prefix may have been rewritten by an earlier round: what counts is the path down to the segment.
                guard let prefix = TemporaryTarget.prefix(of: text, endingWith: id) else { continue }
                guard let real = alias.real else { return .gone }
                text = real.text + text.utf8.dropFirst(prefix.utf8.count).text
                hasMoved = true
                continue rounds
            }
            break
        }
        return hasMoved ? .moved(to: Target(unchecked: text)) : .itself
    }

    /// The unfinished creates that the texts or the JSON body name.
    func creates(named ids: some Sequence<String>, of partition: PartitionID) -> [OperationID] {
        var found: [OperationID] = []
        for id in ids {
            if let create = temporaries[Name(id, of: partition)], !found.contains(create) { found.append(create) }
        }
        return found
    }

    /// All that waits for the operation, directly or through others: by dependency, and in the lane of a create.
    func allDependents(of id: OperationID) -> [Operation] {
        var found: Set<OperationID> = []
        var waiting = [id]
        while let next = waiting.popLast() {
            var more = dependents[next] ?? []
            if let operation = operations[next], operation.kind == .create {
                more.formUnion((lanes[operation.lane] ?? []).filter { $0 != next })
            }
            for dependent in more where found.insert(dependent).inserted { waiting.append(dependent) }
        }
        found.remove(id)
        return found.compactMap { operations[$0] }.sorted { $0.precedes($1) }
    }
}

extension EntryKey {
    /// What it is a member of (`Target.isMember`), its path without a slash at the end.
    var collection: EntryKey? {
        let text = target.text
        guard let slash = text.utf8.lastIndex(of: UInt8(ascii: "/")) else { return nil }
        let path = Target(unchecked: String(text[..<slash]))
        return target.isMember(ofPath: path.text) ? EntryKey(partition: partition, target: path) : nil
    }
}

extension Substring.UTF8View {
    fileprivate var text: String { String(Substring(self)) }
}
