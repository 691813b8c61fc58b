import Synchronization

/// Which targets were expired or removed of late. An answer that was asked for before that may be older than the write that expired its target,
/// and must not be stored as fresh (RFC 9111 4.4). Bounded: what is forgotten counts as expired. Safe from any thread.
package final class ExpiryLog: Sendable {
    private struct Path: Hashable {
        var partition: PartitionID
        var path: String
    }

    private struct State {
        /// How many were noted so far.
        var count: UInt64 = 0
        /// Up to here all targets count as expired.
        var forgotten: UInt64 = 0
        var keys: [EntryKey: UInt64] = [:]
        /// Paths whose targets expired whatever their query.
        var paths: [Path: UInt64] = [:]
    }

    private let state = Mutex(State())
    private let limit: Int

    /// `limit`: how many targets and paths are remembered.
    package init(limit: Int = 8192) { self.limit = limit }

    /// To be taken before the origin is asked.
    package var ticket: UInt64 { state.withLock { $0.count } }

    /// Notes what expires or removes. To be called before the changes are committed: what is stored after that is held against it, and
    /// what was stored before it is expired by the commit.
    package func note(_ changes: [StoreChange]) {
        for change in changes {
            switch change {
            case .expire(let key), .removeEntry(let key), .evict(let key, _): note { $0.keys[key] = $1 }
            case .expirePath(let partition, let path):
                note { $0.paths[Path(partition: partition, path: path)] = $1 }
            default: break
            }
        }
    }

    private func note(_ remember: (inout State, UInt64) -> Void) {
        state.withLock { state in
            if state.keys.count + state.paths.count >= limit {
                state.keys = [:]
                state.paths = [:]
                state.forgotten = state.count
            }
            state.count += 1
            remember(&state, state.count)
        }
    }

    /// Whether the entry may have been expired or removed since the ticket was taken.
    package func hasExpired(_ key: EntryKey, since ticket: UInt64) -> Bool {
        state.withLock { state in
            guard state.count > ticket else { return false }
            let path = Path(partition: key.partition, path: String(key.target.path))
            return state.forgotten > ticket || state.keys[key] ?? 0 > ticket || state.paths[path] ?? 0 > ticket
        }
    }
}
