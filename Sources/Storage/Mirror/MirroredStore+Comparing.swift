import CacheCore
import Synchronization

extension MirroredStore {
    private static let page = 200

    /// Compares all that is there and copies what one side lacks, in the background; one comparison at a time. `verifying`: bodies
    /// and records are compared by their digests, and mended.
    package func compare(verifying: Bool = false) {
        let (primary, mirror) = state.withLock { ($0.primary, $0.mirror) }
        guard let primary, let mirror else { return }
        state.withLock { state in
            guard state.comparison == nil, !state.isClosed else { return }
            let failures = state.status.failures
            state.comparison = Task {
                await runComparison(of: primary, mirror, verifying: verifying, failures: failures)
            }
        }
    }

    /// `failures`: how many there were when it began.
    private func runComparison(
        of primary: SQLiteStore, _ mirror: SQLiteStore, verifying: Bool, failures: Int64
    ) async {
        let total = await primary.usage().entries + mirror.usage().entries
        state.withLock { state in
            (state.status.done, state.status.total, state.status.copied) = (0, total, 0)
            state.status.isComparing = true
        }
        do throws(StoreError) {
            try await unite()
            try await copy(.entry, from: primary, to: mirror, verifying: verifying)
            try await copy(.entry, from: mirror, to: primary, verifying: verifying)
            state.withLock { state in
                if state.status.failures == failures { state.status.isBehind = false }
            }
        } catch {
            if !Task.isCancelled { note(error, of: primary.isInPlace ? .mirror : .primary) }
        }
        state.withLock { state in
            state.status.isComparing = false
            state.comparison = nil
        }
    }

    /// Returns when no comparison runs any more.
    package func compared() async { _ = await state.withLock { $0.comparison }?.value }

    /// Gives both sides the operations, conflicts and receipts of either: none goes because of its age.
    func unite() async throws(StoreError) {
        guard let primary = state.withLock({ $0.primary }), let mirror = state.withLock({ $0.mirror }) else { return }
        for (one, other) in [(primary, mirror), (mirror, primary)] {
            try await copy(one.unfinishedNames, from: one, to: other, verifying: false)
            for kind in [RecordName.Kind.operation, .conflict, .keyRecord, .alias] {
                try await copy(kind, from: one, to: other, verifying: false)
            }
        }
    }

    private func copy(
        _ kind: RecordName.Kind, from one: SQLiteStore, to other: SQLiteStore, verifying: Bool
    ) async throws(StoreError) {
        var after: RecordName?
        while true {
            if Task.isCancelled { throw .closed }
            let names = try await one.names(kind, after: after, limit: Self.page)
            guard let last = names.last else { return }
            after = last
            try await copy(names, from: one, to: other, verifying: verifying)
            if kind == .entry { state.withLock { $0.status.done += Int64(names.count) } }
        }
    }

    private func copy(
        _ names: [RecordName], from one: SQLiteStore, to other: SQLiteStore, verifying: Bool
    ) async throws(StoreError) {
        guard !names.isEmpty else { return }
        let isPrimary = one === state.withLock { $0.primary }
        let here = try await one.records(names)
        let there = Dictionary(uniqueKeysWithValues: try await other.records(names).map { ($0.name, $0) })
        let lacking = here.filter { record in
            there[record.name].map { record.replaces($0, winsTies: isPrimary, by: rule) } ?? true
        }
        if !lacking.isEmpty {
            let brought = try await other.bring(lacking, from: one)
            let taken = try await other.take(lacking, winsTies: isPrimary, by: writer, rule: rule, durable: true)
            withExtendedLifetime(brought) {}
            state.withLock { state in
                state.status.copied += Int64(taken.count)
                state.untold.formUnion(taken.filter { !isPrimary && $0.kind != .entry })
            }
        }
        guard verifying else { return }
        for content in Set(here.flatMap(\.contents)) where content.inline == nil {
            if try await mend(content, on: other, from: one) { state.withLock { $0.status.copied += 1 } }
        }
    }

    /// Hashes a body that both sides should have, and replaces it on the side where it is not what was stored. True where it was.
    private func mend(_ content: Content, on side: SQLiteStore, from other: SQLiteStore) async throws(StoreError)
        -> Bool
    {
        guard try await !side.isWhole(content) else { return false }
        guard try await other.isWhole(content) else {
            log.write(.error, "a body is damaged on both sides", [("digest", content.digest.hex)])
            return false
        }
        log.write(.warning, "a body is copied anew from the other side", [("digest", content.digest.hex)])
        _ = try await side.bring(content, from: other)
        return true
    }
}

extension SQLiteStore {
    /// Whether the file has the bytes of the digest, read anew; one that has not is set aside.
    fileprivate func isWhole(_ content: Content) async throws(StoreError) -> Bool {
        shared.bodies.doubt(content.digest)
        do throws(StoreError) {
            _ = try await read(content, range: 0..<0)
            return true
        } catch {
            guard case .corrupt = error else { throw error }
            return false
        }
    }
}
