import HTTPModel

/// The queue in memory: all unfinished operations, in lanes, with what depends on what. Pure: no I/O, no locks, no clock. It
/// changes in two ways only: by `apply` of changes that the store has committed, and by the transient marks of LaneBook+Claims.
package struct LaneBook: Sendable {
    /// A text that means something within one partition: an Idempotency-Key, or the last segment of a temporary target.
    package struct Name: Sendable, Hashable {
        package var partition: PartitionID
        package var text: String

        package init(_ text: String, of partition: PartitionID) {
            self.partition = partition
            self.text = text
        }
    }

    /// What `apply` changed, for those who are to be told.
    package struct Applied: Sendable {
        package var events: [Event] = []
        /// Operations that became final or stopped.
        package var settled: [Operation] = []
    }

    /// Unfinished operations.
    var operations: [OperationID: Operation] = [:]
    /// In order of sequence; no empty ones.
    var lanes: [EntryKey: [OperationID]] = [:]
    /// Those of a lane that make effective copies, in order of sequence, where the lane has actions too; elsewhere all of a lane do.
    var editsAmongActions: [EntryKey: [OperationID]] = [:]
    /// Those of a lane that have stopped, in order of sequence; no empty ones.
    var stopped: [EntryKey: [OperationID]] = [:]
    /// How many operations of a partition wait for a credential; no zeros.
    var credentialWaits: [PartitionID: Int] = [:]
    /// By an unfinished operation: who names it in `dependsOn`.
    var dependents: [OperationID: Set<OperationID>] = [:]
    /// Keys of clients, and those of operations that were merged into another.
    var keys: [Name: OperationID] = [:]
    /// Unfinished creates by the last segment of their temporary target.
    var temporaries: [Name: OperationID] = [:]
    /// Unfinished creates by the collection they are sent to, in order.
    var creates: [EntryKey: [OperationID]] = [:]
    /// How many operations that make effective copies there are of members of a collection, by its path without a slash at the end, and
    /// of a partition; no zeros.
    var memberEdits: [EntryKey: Int] = [:]
    var partitionEdits: [PartitionID: Int] = [:]
    /// By the last segment of the temporary target.
    var aliases: [Name: TargetAlias] = [:]
    var openConflicts: [String: Conflict] = [:]
    var conflictsByEntry: [EntryKey: [String]] = [:]
    var tallies: [OperationState: Int] = [:]
    var lastSequence: Int64 = 0
    var highPins: Set<EntryKey> = []
    /// Claimed operations as they were before.
    var claims: [OperationID: Operation] = [:]
    var ready = Heap<ReadyItem>()
    var timed = Heap<TimedItem>()
    /// When claims were asked for last.
    var lastNow = -Double.infinity

    /// Seconds that an operation waits at most for its next attempt.
    package static let longestWait = 86_400.0

    package init() {}

    /// Starts from what the store had. What was `sending` has an unknown outcome: it becomes `unknown` here, and on disk with its
    /// next change.
    package init(_ image: QueueImage) {
        lastSequence = image.lastSequence
        for alias in image.aliases { put(alias) }
        for conflict in image.conflicts { put(conflict) }
        for var operation in image.operations where !operation.state.isFinal {
            if operation.state == .sending {
                operation.state = .unknown
                operation.nextAttemptAt = nil
            }
            lastSequence = max(lastSequence, operation.sequence)
            link(operation)
        }
        for lane in lanes.keys { refresh(lane) }
    }

    /// The next place in the order of acceptance: what `next` makes of the last one.
    mutating func takeSequence(_ next: (Int64) -> Int64) -> Int64 {
        lastSequence = next(lastSequence)
        return lastSequence
    }

    // MARK: Applying what is committed

    /// Takes over changes that the store has committed.
    mutating func apply(_ changes: [StoreChange]) -> Applied {
        var applied = Applied()
        applied.events.reserveCapacity(changes.count * 2)
        var touched: [EntryKey] = []
        var isTouched: Set<EntryKey> = []
        func touch(_ lane: EntryKey) {
            if isTouched.insert(lane).inserted { touched.append(lane) }
        }
        for change in changes {
            switch change {
            case .putOperation(let operation):
                let old = operations[operation.id]
                put(operation)
                touch(operation.lane)
                if let old, old.lane != operation.lane { touch(old.lane) }
                if old?.state != operation.state {
                    applied.events.append(.operation(operation, from: old?.state))
                    if operation.state.isFinal || operation.state.isStopped { applied.settled.append(operation) }
                }
            case .putConflict(let conflict):
                put(conflict)
                touch(conflict.key)
                applied.events.append(.conflict(conflict))
            case .putAlias(let alias): put(alias)
            case .movePartition(let source, let destination): touched += move(from: source, to: destination)
            default: break
            }
        }
        for lane in touched {
            refresh(lane)
            let edit = localEdit(of: lane)
            let state = edit?.syncState ?? (conflictsByEntry[lane] == nil ? "synced" : "conflict")
            applied.events.append(.entry(lane, state: state, deleted: edit.map { $0.content == nil } ?? false))
        }
        dropStaleItems()
        return applied
    }

    private mutating func put(_ operation: Operation) {
        let old = operations[operation.id]
        // A lane may be long: what only changes its state stays where it stands.
        let staysInPlace = !operation.state.isFinal && old?.hasSamePlace(as: operation) ?? false
        if let old { unlink(old, keepingPlace: staysInPlace) }
        if operation.state != .sending { claims[operation.id] = nil }
        guard operation.state.isFinal else {
            link(operation, hasPlace: staysInPlace)
            return
        }
        for dependent in dependents.removeValue(forKey: operation.id) ?? [] {
            if let lane = operations[dependent]?.lane { refresh(lane) }
        }
        if lanes[operation.lane] == nil { highPins.remove(operation.lane) }
    }

    private mutating func link(_ operation: Operation, hasPlace: Bool = false) {
        operations[operation.id] = operation
        tallies[operation.state, default: 0] += 1
        if !hasPlace {
            Self.insert(operation, into: &lanes[operation.lane, default: []], among: operations)
            insertAmongActions(operation)
        }
        if operation.state.isStopped {
            Self.insert(operation, into: &stopped[operation.lane, default: []], among: operations)
        }
        if operation.reason == Reason.credential { credentialWaits[operation.partition, default: 0] += 1 }
        for id in operation.dependsOn { dependents[id, default: []].insert(operation.id) }
        if hasPlace { return }
        countEdit(operation, 1)
        for key in operation.indexedKeys { keys[Name(key, of: operation.partition)] = operation.id }
        if let id = operation.temporaryTarget.flatMap({ TemporaryTarget.id(of: $0) }) {
            temporaries[Name(id, of: operation.partition)] = operation.id
            let collection = EntryKey(partition: operation.partition, target: operation.target)
            Self.insert(operation, into: &creates[collection, default: []], among: operations)
        }
    }

    private mutating func unlink(_ operation: Operation, keepingPlace: Bool = false) {
        tallies[operation.state, default: 0] -= 1
        if !keepingPlace {
            operations[operation.id] = nil
            Self.remove(operation.id, from: operation.lane, in: &lanes)
            removeFromAmongActions(operation)
        }
        if operation.state.isStopped { Self.remove(operation.id, from: operation.lane, in: &stopped) }
        if operation.reason == Reason.credential, let count = credentialWaits[operation.partition] {
            credentialWaits[operation.partition] = count > 1 ? count - 1 : nil
        }
        for id in operation.dependsOn {
            dependents[id]?.remove(operation.id)
            if dependents[id]?.isEmpty == true { dependents[id] = nil }
        }
        if keepingPlace { return }
        countEdit(operation, -1)
        for key in operation.indexedKeys {
            let name = Name(key, of: operation.partition)
            if keys[name] == operation.id { keys[name] = nil }
        }
        if let id = operation.temporaryTarget.flatMap({ TemporaryTarget.id(of: $0) }) {
            let name = Name(id, of: operation.partition)
            if temporaries[name] == operation.id { temporaries[name] = nil }
            let collection = EntryKey(partition: operation.partition, target: operation.target)
            Self.remove(operation.id, from: collection, in: &creates)
        }
    }

    private mutating func insertAmongActions(_ operation: Operation) {
        let lane = operation.lane
        let isAmongActions = editsAmongActions[lane] != nil
        if operation.kind == .action {
            guard !isAmongActions else { return }
            editsAmongActions[lane] = lanes[lane]?.filter { $0 != operation.id }
        } else if isAmongActions {
            Self.insert(operation, into: &editsAmongActions[lane, default: []], among: operations)
        }
    }

    private mutating func removeFromAmongActions(_ operation: Operation) {
        guard let index = editsAmongActions.index(forKey: operation.lane) else { return }
        if operation.kind != .action { Self.remove(operation.id, from: &editsAmongActions.values[index]) }
        // The last action has gone.
        if editsAmongActions.values[index].count == lanes[operation.lane]?.count ?? 0 {
            editsAmongActions.remove(at: index)
        }
    }

    private mutating func countEdit(_ operation: Operation, _ change: Int) {
        guard operation.kind != .action else { return }
        let edits = partitionEdits[operation.partition, default: 0] + change
        partitionEdits[operation.partition] = edits > 0 ? edits : nil
        guard let collection = operation.lane.collection else { return }
        let members = memberEdits[collection, default: 0] + change
        memberEdits[collection] = members > 0 ? members : nil
    }

    /// Takes an operation out as if it had never been here.
    mutating func forget(_ operation: Operation) {
        unlink(operation)
        claims[operation.id] = nil
    }

    /// Takes an alias out.
    mutating func forget(_ alias: TargetAlias) {
        if let id = TemporaryTarget.id(of: alias.temporary) { aliases[Name(id, of: alias.partition)] = nil }
    }

    /// Static, like `remove`: a method would hold a copy of the book while a part of it changes, and so copy that part whole.
    private static func insert(
        _ operation: Operation, into lane: inout [OperationID], among operations: [OperationID: Operation]
    ) {
        var place = lane.count
        while place > 0, let before = operations[lane[place - 1]], operation.precedes(before) { place -= 1 }
        lane.insert(operation.id, at: place)
    }

    private static func remove(_ id: OperationID, from key: EntryKey, in table: inout [EntryKey: [OperationID]]) {
        guard let index = table.index(forKey: key) else { return }
        remove(id, from: &table.values[index])
        if table.values[index].isEmpty { table.remove(at: index) }
    }

    /// What is delivered stands first, and what is discarded or merged into another mostly last.
    private static func remove(_ id: OperationID, from ids: inout [OperationID]) {
        if ids.last == id {
            ids.removeLast()
        } else if let place = ids.firstIndex(of: id) {
            ids.remove(at: place)
        }
    }

    private mutating func put(_ conflict: Conflict) {
        if let old = openConflicts.removeValue(forKey: conflict.id) {
            conflictsByEntry[old.key]?.removeAll { $0 == old.id }
            if conflictsByEntry[old.key]?.isEmpty == true { conflictsByEntry[old.key] = nil }
        }
        guard conflict.closedAt == nil else { return }
        openConflicts[conflict.id] = conflict
        conflictsByEntry[conflict.key, default: []].append(conflict.id)
    }

    private mutating func put(_ alias: TargetAlias) {
        guard let id = TemporaryTarget.id(of: alias.temporary) else { return }
        aliases[Name(id, of: alias.partition)] = alias
    }

    /// Hands all that is one partition's to another; the lanes it now stands in.
    private mutating func move(from source: PartitionID, to destination: PartitionID) -> [EntryKey] {
        let moving = operations.values.filter { $0.partition == source }.sorted { $0.precedes($1) }
        for operation in moving { unlink(operation) }
        let pinned = highPins.filter { $0.partition == source }
        highPins.subtract(pinned)
        highPins.formUnion(pinned.map { EntryKey(partition: destination, target: $0.target) })
        for var operation in moving {
            operation.partition = destination
            if operation.reason == Reason.credential { operation.reason = nil }
            link(operation)
        }
        for (name, var alias) in aliases where name.partition == source {
            aliases[name] = nil
            alias.partition = destination
            put(alias)
        }
        for var conflict in openConflicts.values where conflict.key.partition == source {
            put(conflict.closed(at: 0))
            conflict.key = EntryKey(partition: destination, target: conflict.key.target)
            put(conflict)
        }
        return Set(moving.map { EntryKey(partition: destination, target: ($0.temporaryTarget ?? $0.target)) }).sorted {
            $0.target.text < $1.target.text
        }
    }
}

/// Reasons that the queue itself gives to operations.
package enum Reason {
    package static let credential = "credential"
    /// The origin said when to come again.
    package static let retryAfter = "retry-after"
    /// The outcome is unknown, and what was sent may still take effect.
    package static let settle = "settle"
    /// Its bytes can't be read: lost where it has failed, else not now.
    package static let body = "body"
    /// The origin refused it with a status that no further attempt would change.
    package static let status = "status"
    /// The origin redirected it too often.
    package static let redirects = "redirects"
    package static let outcomeUnknown = ConflictKind.outcomeUnknown.rawValue
    package static let noTarget = "no-target"
    package static let maxAttempts = "max-attempts"
    package static let serverWins = "server-wins"
    package static let discarded = "discarded"
    /// Removed together with the create that it deletes: nothing was ever sent.
    package static let coalesced = "coalesced"
}

extension Operation {
    /// Whether the other one stands in the same lane and list, at the same place, and is found under the same names.
    fileprivate func hasSamePlace(as other: Operation) -> Bool {
        sequence == other.sequence && partition == other.partition && target == other.target
            && temporaryTarget == other.temporaryTarget && idempotencyKey == other.idempotencyKey
            && mergedKeys == other.mergedKeys && (kind == .action) == (other.kind == .action)
    }
}

extension Conflict {
    /// The same conflict, resolved, in its next revision.
    func closed(at time: Double) -> Conflict {
        var closed = self
        closed.closedAt = time
        closed.revision += 1
        return closed
    }
}
