package import CacheCore
import Synchronization

extension MirroredStore {
    private static let page = 200

    package typealias Progress = @Sendable (MirrorStatus) -> Void

    /// A comparison that runs; its end says what it failed with.
    typealias Comparison = Task<StoreError?, Never>

    /// Compares all that is there and copies what one side lacks, in the background; one comparison at a time.
    func compare() { _ = begin(verifying: false) { _ in } }

    /// Compares both sides and copies what one of them lacks, after a comparison that runs already; `byDigest` bodies and records
    /// are read, and what has other bytes than were stored is mended. Callable from any task; ends early, with `closed`, where that is
    /// cancelled or the store is closed. `progress` is told after each page of entries how far it is. The status at the end has what was
    /// found. Throws `side` with the location that is left out or can't be read or written.
    package func compare(
        byDigest: Bool, progress: @escaping Progress = { _ in }
    ) async throws(StoreError) -> MirrorStatus {
        while true {
            guard let (comparison, isOwn) = begin(verifying: byDigest, progress) else {
                throw .side(status.out.first ?? .primary, .failed(reason: "it can't be reached"))
            }
            let failure = await withTaskCancellationHandler {
                await comparison.value
            } onCancel: {
                if isOwn { comparison.cancel() }
            }
            guard isOwn else { continue }
            if let failure { throw failure }
            return status
        }
    }

    /// The comparison that runs, or a new one; nil where a side is out.
    private func begin(verifying: Bool, _ progress: @escaping Progress) -> (comparison: Comparison, isOwn: Bool)? {
        state.withLock { state in
            guard let primary = state.primary, let mirror = state.mirror, !state.isClosed else { return nil }
            if let running = state.comparison { return (running, false) }
            let failures = state.status.failures
            state.status.isComparing = true
            (state.status.done, state.status.total, state.status.copied, state.status.damaged) = (0, 0, 0, 0)
            let comparison = Comparison {
                let failure = await run(between: primary, mirror, verifying: verifying, progress)
                end(with: failure, hadFailed: failures)
                return failure
            }
            state.comparison = comparison
            return (comparison, true)
        }
    }

    private func run(
        between primary: SQLiteStore, _ mirror: SQLiteStore, verifying: Bool, _ progress: @escaping Progress
    ) async -> StoreError? {
        let total = await primary.usage().entries + mirror.usage().entries
        state.withLock { $0.status.total = total }
        do throws(StoreError) {
            try await unite(verifying: verifying)
            for (one, other) in [(primary, mirror), (mirror, primary)] {
                try await copy(.entry, from: one, to: other, verifying: verifying, progress)
            }
            return nil
        } catch {
            return error
        }
    }

    /// `hadFailed`: how many failures there were when it began.
    private func end(with failure: StoreError?, hadFailed: Int64) {
        if case .side(let side, _)? = failure, let failure, !Task.isCancelled { note(failure, of: side) }
        state.withLock { state in
            if failure == nil, state.status.failures == hadFailed {
                state.status.isBehind = false
                state.pause = Self.shortestPause
            }
            state.status.isComparing = false
            state.comparison = nil
        }
    }

    /// Returns when no comparison runs any more.
    package func compared() async { _ = await state.withLock { $0.comparison }?.value }

    /// Gives both sides the operations, conflicts and receipts of either: none goes because of its age.
    func unite(verifying: Bool = false) async throws(StoreError) {
        guard let primary = state.withLock({ $0.primary }), let mirror = state.withLock({ $0.mirror }) else { return }
        // A side that can't be written may still have what the other one lacks.
        var failure: StoreError?
        for (one, other) in [(primary, mirror), (mirror, primary)] {
            do throws(StoreError) { try await copyQueue(from: one, to: other, verifying: verifying) } catch {
                failure = failure ?? error
            }
        }
        if let failure { throw failure }
    }

    func copyQueue(from one: SQLiteStore, to other: SQLiteStore, verifying: Bool = false) async throws(StoreError) {
        try await copy(one.unfinishedNames, from: one, to: other, verifying: verifying)
        for kind in [RecordName.Kind.operation, .conflict, .keyRecord, .alias] {
            try await copy(kind, from: one, to: other, verifying: verifying)
        }
    }

    func copy(
        _ kind: RecordName.Kind, from one: SQLiteStore, to other: SQLiteStore, verifying: Bool = false,
        _ progress: Progress = { _ in }
    ) async throws(StoreError) {
        var after: RecordName?
        while true {
            if Task.isCancelled { throw .closed }
            let names = try await blaming(one) { () throws(StoreError) in
                try await one.names(kind, after: after, limit: Self.page)
            }
            guard let last = names.last else { return }
            after = last
            try await copy(names, from: one, to: other, verifying: verifying)
            guard kind == .entry else { continue }
            progress(
                state.withLock { state in
                    state.status.done += Int64(names.count)
                    return state.status
                })
        }
    }

    private func copy(
        _ names: [RecordName], from one: SQLiteStore, to other: SQLiteStore, verifying: Bool
    ) async throws(StoreError) {
        guard !names.isEmpty else { return }
        let here = try await blaming(one) { () throws(StoreError) in try await one.records(names) }
        let there = Dictionary(
            uniqueKeysWithValues: try await blaming(other) { () throws(StoreError) in
                try await other.records(names)
            }.map { ($0.name, $0) })
        let damaged = verifying ? Set(there.values.filter { !$0.isWhole }.map(\.name)) : []
        let lacking = here.filter { record in
            guard !verifying || record.isWhole else { return false }
            guard let theirs = there[record.name] else { return true }
            return damaged.contains(record.name) && record.counter >= theirs.counter
                || record.replaces(theirs, winsTies: one.side == .primary, by: rule)
        }
        if !lacking.isEmpty { try await bring(lacking, from: one, to: other, mending: damaged) }
        guard verifying else { return }
        let needed = Set((Array(there.values) + lacking).flatMap(\.contents))
        for content in Set(here.flatMap(\.contents)).intersection(needed) where content.inline == nil {
            try await mend(content, on: other, from: one)
        }
    }

    private func bring(
        _ lacking: [MirrorRecord], from one: SQLiteStore, to other: SQLiteStore, mending damaged: Set<RecordName>
    ) async throws(StoreError) {
        let taken = try await blaming(other) { () throws(StoreError) in
            let (contents, records) = try await other.bring(lacking, from: one)
            defer { withExtendedLifetime(contents) {} }
            return try await other.take(
                records, winsTies: one.side == .primary, by: writer, rule: rule, durable: true, mending: damaged)
        }
        state.withLock { state in
            state.status.copied += Int64(taken.count)
            if one.side == .mirror { state.untold.formUnion(taken.filter { $0.kind != .entry }) }
        }
    }

    /// Hashes a body that both sides should have, and replaces it on the side where it is not what was stored.
    private func mend(_ content: Content, on side: SQLiteStore, from other: SQLiteStore) async throws(StoreError) {
        let isThere = try await blaming(side) { () throws(StoreError) in try await side.examine(content) != nil }
        if isThere { return }
        guard try await blaming(other, { () throws(StoreError) in try await other.examine(content) != nil }) else {
            // Found once more from the other side.
            guard side.side == .mirror else { return }
            log.write(.error, "a body is damaged on both sides", [("digest", content.digest.hex)])
            return state.withLock { $0.status.damaged += 1 }
        }
        log.write(.warning, "a body is copied anew from the other side", [("digest", content.digest.hex)])
        _ = try await blaming(side) { () throws(StoreError) in try await side.bring(content, from: other) }
        state.withLock { $0.status.copied += 1 }
    }

    /// Names the side in what `body` throws.
    func blaming<Value>(
        _ store: SQLiteStore, _ body: () async throws(StoreError) -> Value
    ) async throws(StoreError) -> Value {
        do { return try await body() } catch { throw error.at(store.side) }
    }
}

extension StoreError {
    /// With the side that it speaks of, unless it names one already.
    func at(_ side: StoreSide) -> StoreError { if case .side = self { self } else { .side(side, self) } }
}

extension MirrorRecord {
    /// Whether the bytes that lie in the row itself are those of their digests.
    fileprivate var isWhole: Bool { contents.allSatisfy(\.isWhole) }
}
