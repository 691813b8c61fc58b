import HTTPModel

/// A lane's head that may be claimed: high-priority pinned first, then by sequence.
struct ReadyItem: Comparable, Sendable {
    var isPinnedHigh: Bool
    var sequence: Int64
    var id: OperationID

    static func < (one: ReadyItem, other: ReadyItem) -> Bool {
        one.isPinnedHigh != other.isPinnedHigh ? one.isPinnedHigh : one.sequence < other.sequence
    }
}

/// A lane's head that waits for a time.
struct TimedItem: Comparable, Sendable {
    var time: Double
    var id: OperationID

    static func < (one: TimedItem, other: TimedItem) -> Bool { one.time < other.time }
}

// Both heaps may hold items that no longer apply; they are looked at when they come out. Whoever makes a head claimable again
// calls `refresh`, so that none is ever missing.
extension LaneBook {
    /// Notes the lane's head where it can be claimed now or later.
    mutating func refresh(_ lane: EntryKey) {
        guard let id = lanes[lane]?.first, let operation = operations[id], isWaiting(operation) else { return }
        if let time = operation.nextAttemptAt {
            timed.push(TimedItem(time: time, id: id))
        } else {
            pushReady(operation)
        }
    }

    /// Makes the heaps anew where most of what they hold no longer applies: nothing is claimed while offline, and writes go on.
    mutating func dropStaleItems() {
        guard ready.count + timed.count > 1024 + 4 * lanes.count else { return }
        ready = Heap()
        timed = Heap()
        for lane in lanes.keys { refresh(lane) }
    }

    private mutating func pushReady(_ operation: Operation) {
        ready.push(
            ReadyItem(
                isPinnedHigh: highPins.contains(operation.lane), sequence: operation.sequence, id: operation.id))
    }

    /// Whether the operation is the head of its lane and waits for nothing but time.
    private func isWaiting(_ operation: Operation) -> Bool {
        (operation.state == .pending || operation.state == .unknown) && operation.reason != Reason.credential
            && lanes[operation.lane]?.first == operation.id
            && operation.dependsOn.allSatisfy { operations[$0] == nil }
    }

    /// Up to `limit` operations to claim, in their order; `take` says whether the lane can be had now. Those taken leave the heap:
    /// after a failure `refresh` their lanes.
    mutating func candidates(limit: Int, now: Double, take: (EntryKey) -> Bool) -> [Operation] {
        if now < lastNow { dropFarWaits(now: now) }
        lastNow = now
        while let item = timed.first, item.time <= now {
            _ = timed.pop()
            if let operation = operations[item.id], isWaiting(operation), operation.nextAttemptAt ?? 0 <= now {
                pushReady(operation)
            }
        }
        var taken: [Operation] = []
        var busy: [ReadyItem] = []
        while taken.count < limit, let item = ready.pop() {
            guard let operation = operations[item.id], isWaiting(operation) else { continue }
            if let time = operation.nextAttemptAt, time > now {
                timed.push(TimedItem(time: time, id: item.id))
            } else if take(operation.lane) {
                taken.append(operation)
            } else if !taken.contains(where: { $0.id == item.id }) {
                busy.append(item)
            }
        }
        for item in busy { ready.push(item) }
        return taken
    }

    /// Remembers how the operation was before it was claimed, for `notSent`.
    mutating func noteClaim(_ operation: Operation) { claims[operation.id] = operation }

    /// `now` where something can be claimed at once, else the earliest time at which something can. `isFree`: whether the lane can be
    /// had now; whoever frees it tells of it.
    mutating func nextDue(now: Double, isFree: (EntryKey) -> Bool) -> Double? {
        while let item = ready.first {
            guard let operation = operations[item.id], isWaiting(operation), operation.nextAttemptAt ?? 0 <= now else {
                _ = ready.pop()
                if let operation = operations[item.id], isWaiting(operation) { refresh(operation.lane) }
                continue
            }
            guard isFree(operation.lane) else { break }
            return now
        }
        while let item = timed.first {
            guard let operation = operations[item.id], isWaiting(operation), operation.nextAttemptAt == item.time
            else {
                _ = timed.pop()
                continue
            }
            return max(item.time, now)
        }
        return nil
    }

    /// Makes every lane due but for those whose outcome is settling and, unless somebody asked for it by hand, those that the origin
    /// told to wait. In memory only. `settled`: when what may be on its way now is in effect or never will be.
    mutating func dueAtOnce(byHand: Bool, settled: Double) {
        for (lane, ids) in lanes {
            guard let id = ids.first, var operation = operations[id], byHand || operation.reason != Reason.retryAfter,
                operation.hurry(settled: settled)
            else { continue }
            operations[id] = operation
            refresh(lane)
        }
    }

    /// Makes due what waits for a time further away than any wait that begins now: the clock was set back since.
    mutating func dropFarWaits(now: Double) {
        for (id, operation) in operations where (operation.nextAttemptAt ?? now) > now + Self.longestWait {
            operations[id]?.nextAttemptAt = nil
            refresh(operation.lane)
        }
    }

    /// Lets the operations of the partition that wait for a credential go on. In memory only, as `dueAtOnce`.
    mutating func credentialArrived(for partition: PartitionID) {
        guard credentialWaits[partition] != nil else { return }
        for (id, operation) in operations
        where operation.partition == partition && operation.reason == Reason.credential {
            operations[id]?.reason = nil
            operations[id]?.nextAttemptAt = nil
            refresh(operation.lane)
        }
        credentialWaits[partition] = nil
    }

    /// Notes whether the target is pinned with high priority.
    mutating func setHighPin(_ isHigh: Bool, of lane: EntryKey) {
        guard isHigh != highPins.contains(lane) else { return }
        if isHigh { highPins.insert(lane) } else { highPins.remove(lane) }
        refresh(lane)
    }
}
