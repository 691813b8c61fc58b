import CacheCore
import Synchronization

extension MirroredStore {
    /// Seconds between looks at what other processes have committed.
    private static let pause = 0.25
    private static let batch = 500

    func watch() {
        let clock = clock
        let watch = Task { [weak self] in
            while !Task.isCancelled {
                await clock.sleep(until: clock.now + Self.pause)
                guard !Task.isCancelled, let self else { return }
                await self.look()
            }
        }
        state.withLock { $0.watch = watch }
    }

    /// Looks at what others have committed, at who delivers, and after sides that were lost. One look at a time.
    package func look() async {
        let begins = state.withLock { state in
            guard !state.isLooking, !state.isClosed else { return false }
            state.isLooking = true
            return true
        }
        guard begins else { return }
        defer { state.withLock { $0.isLooking = false } }
        await mend()
        let (mirror, locks) = state.withLock { ($0.mirror, $0.locks) }
        do throws(StoreError) {
            if let mirror {
                guard mirror.isInPlace else { throw .failed(reason: "it is no longer in its place") }
                // Only who is alone with it can salvage it.
                guard !mirror.shared.files.isMarked else { throw .corrupt(reason: "the database was found damaged") }
                try await takeOver(from: mirror)
                if locks?.look(isBusy: mirror.isSending) ?? false { try await inherit() }
            }
        } catch {
            note(error, of: .mirror)
        }
        if let primary = state.withLock({ $0.primary }), !primary.isInPlace {
            note(.failed(reason: "it is no longer in its place"), of: .primary)
        }
        await tellQueue()
        let isBehind = state.withLock { state in
            state.status.isBehind && state.comparison == nil && clock.now >= state.retryAt && state.sides.count == 2
        }
        if isBehind { compare() }
    }

    /// Takes over what others have brought into the mirror.
    private func takeOver(from mirror: SQLiteStore) async throws(StoreError) {
        let after = state.withLock { $0.arrival }
        let arrivals = try await mirror.arrivals(after: after, notBy: writer)
        guard let last = arrivals.last else { return }
        try await mirror.look()
        var rest = arrivals.map(\.name)[...]
        while !rest.isEmpty {
            let names = Array(rest.prefix(Self.batch))
            rest = rest.dropFirst(names.count)
            let records = try await mirror.records(names)
            for record in records { count.raise(to: record.counter) }
            if let primary = state.withLock({ $0.primary }) {
                try await exchange(records, with: primary, from: mirror)
            } else {
                for key in names.compactMap(\.key) { view?.invalidate(key) }
            }
            state.withLock { $0.untold.formUnion(names.filter { $0.kind != .entry }) }
        }
        state.withLock { $0.arrival = last.arrival }
    }

    /// Brings the mirror's records to the primary side, and what that has in their place back.
    private func exchange(
        _ records: [MirrorRecord], with primary: SQLiteStore, from mirror: SQLiteStore
    ) async throws(StoreError) {
        let taken: [RecordName]
        do throws(StoreError) {
            let (contents, whole) = try await primary.bring(records, from: mirror)
            taken = try await primary.take(whole, winsTies: false, by: writer, rule: rule, durable: true)
            withExtendedLifetime(contents) {}
        } catch {
            return note(error, of: .primary)
        }
        let kept = Dictionary(uniqueKeysWithValues: records.map { ($0.name, $0) }).filter { !taken.contains($0.key) }
        let mine = try await primary.records(Array(kept.keys)).filter { record in
            kept[record.name].map { record.replaces($0, winsTies: true, by: rule) } ?? false
        }
        guard !mine.isEmpty else { return }
        let (contents, whole) = try await mirror.bring(mine, from: primary)
        _ = try await mirror.take(whole, winsTies: true, by: writer, rule: rule, durable: true)
        withExtendedLifetime(contents) {}
    }

    // MARK: The queue

    private func tellQueue() async {
        guard let change = told.withLock({ $0 })?.change else { return }
        let names = state.withLock { $0.untold }
        guard !names.isEmpty else { return }
        do {
            guard try await change({ [self] in try await current(names) }) else { return }
            state.withLock { $0.untold.subtract(names) }
        } catch {
            log.write(.error, "changes of another process can't be read", [("reason", "\(error)")])
        }
    }

    /// What the queue has to know of the records, as they are now.
    private func current(_ names: Set<RecordName>) async throws(StoreError) -> [StoreChange] {
        guard let main = sides.first else { return [] }
        let changes = try await main.records(Array(names)).compactMap { record -> StoreChange? in
            switch record.value {
            case .operation(let operation): .putOperation(operation)
            case .conflict(let conflict): .putConflict(conflict)
            case .alias(let alias): .putAlias(alias)
            case .entry, .keyRecord, .gone: nil
            }
        }
        noteSeen(changes)
        return changes
    }

    /// Delivery is this process's from now on.
    private func inherit() async throws(StoreError) {
        log.write(.info, "this process delivers what waits in the mirrored store", [])
        guard let gained = told.withLock({ $0 })?.gained, let main = sides.first else { return }
        let ids = main.unfinishedNames.map { OperationID($0.text) }
        do { try await gained(ids) } catch {
            throw error as? StoreError ?? .failed(reason: "the queue could not take over")
        }
    }
}
