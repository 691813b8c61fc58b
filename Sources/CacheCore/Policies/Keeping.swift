// How long an entry stays, and when it is due for a refresh (seeds/semantics 1.2, "Expiration policy", "Eviction policy").

extension Entry {
    /// The policy in force where no request brings one: the entry's own fields, then the configured ones of its path.
    package func policy(under table: PolicyTable) -> Policy { Policy(layers: [policy, table.layer(for: key.target)]) }

    /// Whether its copies may go to make room, as far as the entry and its path tell. Those that are to go at a start alone, or
    /// by hand, stay while the service runs.
    package func isEvictable(under table: PolicyTable) -> Bool {
        guard pin == nil, !kept.isEmpty else { return false }
        return policy(under: table).evictionPolicy == .evictWhenFull
    }

    /// Whether all that is kept of it has expired at `now` (seconds since 1970) under that policy. False where nothing is.
    package func hasExpired(under policy: Policy, epoch: Int64, targetedFields: [String], now: Double) -> Bool {
        !kept.isEmpty
            && kept.allSatisfy { copy in
                Freshness.timeToLive(
                    of: copy, policy: policy, isShared: key.partition == .none, epoch: epoch,
                    targetedFields: targetedFields, now: now) <= 0
            }
    }

    /// What stays of it when its copies go: a policy that was kept with it; nil for nothing.
    package var withoutCopies: Entry? {
        guard !policy.isEmpty || !pins.isEmpty else { return nil }
        var entry = Entry(key: key, policy: policy)
        entry.pins = pins
        return entry
    }

    /// Whether its copies go with `StoreChange.evict`: it is not pinned, and none was confirmed at or after that time.
    package func goes(ifOlderThan time: Double) -> Bool {
        pin == nil && !kept.isEmpty && kept.allSatisfy { $0.responseTime < time }
    }

    /// Whole copies, and the heads of those that are kept in parts.
    private var kept: [ServerCopy] { copies + parts.map(\.head) }
}
