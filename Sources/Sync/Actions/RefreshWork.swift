import CacheCore

/// Asks the origin for every entry whose path a pattern covers. Begun anew after an interruption, it passes by what was brought up to
/// date since the action was created.
struct RefreshWork: ActionWork {
    let store: any Store
    let fetches: ActionFetches

    func run(_ turn: ActionTurn) async throws -> Bool {
        guard case .refresh(let pattern) = turn.action.request else { return true }
        let filter = EntryFilter(partitions: turn.action.partitions)
        var total: Int64 = 0
        var isWhole = try await forEachPage(of: filter) { entries in
            total += Int64(entries.count { pattern.matches($0.key.target.path) })
            return true
        }
        guard isWhole else { return false }
        await turn.note { [total] progress in
            progress.total = total
            progress.done = 0
        }
        isWhole = try await forEachPage(of: filter) { entries in
            let keys = entries.map(\.key).filter { pattern.matches($0.target.path) }
            return await fetches.bring(keys, turn) { entry in
                !(entry?.isSynced(since: turn.action.createdAt) ?? false)
            }
        }
        return isWhole
    }

    private func forEachPage(
        of filter: EntryFilter, _ body: ([Entry]) async throws -> Bool
    ) async throws -> Bool {
        var after: String?
        repeat {
            let page = try await store.entries(filter, after: after, limit: 100)
            guard !Task.isCancelled, try await body(page.items) else { return false }
            after = page.next
        } while after != nil
        return true
    }
}
