package import CacheCore
import Glibc
import HTTPModel
import Synchronization

extension MirroredStore {
    /// Opens both sides. Of an app one may be missing, unless `isStrict`; it is left out then and tried again while the store runs.
    /// Both have the operations of either when this returns; entries are compared in the background.
    package static func open(
        _ plan: MirrorPlan, clock: any Clock, log: any Log, view: (any HitView)?,
        rule: any Reconciling = NewestCommitWins()
    ) async throws(StoreOpenError) -> MirroredStore {
        if let primary = plan.primary, primary.hasSameBytes(as: plan.mirror) {
            throw .side(.mirror, .failed(reason: "it is to lie in another folder than the primary location"))
        }
        var state = State()
        var failure: StoreOpenError?
        // The side that has a key goes first, for the other one is to take it over.
        let order: [StoreSide] = plan.files(.primary)?.partitionKey == nil ? [.mirror, .primary] : [.primary, .mirror]
        for side in order where side == .mirror || plan.role == .app {
            do throws(StoreOpenError) {
                try await plan.open(side, in: &state, clock: clock, log: log, view: view)
            } catch {
                if plan.isStrict || plan.role == .extension || error.staysSo {
                    await state.closeSides()
                    throw .side(side, error)
                }
                log.write(
                    .error, "a side of a mirrored store is left out", [("side", side.rawValue), ("reason", "\(error)")])
                failure = .side(side, error)
                state.status.isBehind = true
                state.status.failures += 1
            }
        }
        if let primary = state.primary, let mirror = state.mirror, primary.partitionKey != mirror.partitionKey {
            // Filled apart from each other: which one has nothing that the other's key would make unreachable?
            let isPaired =
                await primary.take(partitionKeyOf: mirror) ? true : await mirror.take(partitionKeyOf: primary)
            await state.closeSides()
            guard isPaired else {
                throw .side(
                    .mirror,
                    .failed(reason: "it holds another store than the primary location, and both hold identities"))
            }
            for side in order {
                do throws(StoreOpenError) {
                    try await plan.open(side, in: &state, clock: clock, log: log, view: view)
                } catch {
                    await state.closeSides()
                    throw .side(side, error)
                }
            }
        }
        guard let main = state.primary ?? state.mirror else {
            throw failure ?? .failed(reason: "no side can be opened")
        }
        let sides = [state.primary, state.mirror].compactMap { $0 }
        let store = MirroredStore(
            state, epoch: main.epoch, partitionKey: main.partitionKey, plan: plan, rule: rule, clock: clock, log: log,
            view: view)
        do throws(StoreError) {
            for side in sides {
                let newest = try await store.blaming(side) { () throws(StoreError) in try await side.newestStamps() }
                store.count.raise(to: newest.count)
            }
            if sides.count == 2 { try await store.unite() }
        } catch {
            store.note(error, of: main.side)
            if plan.isStrict || store.sides.isEmpty {
                await store.close()
                guard case .side(let side, let error) = error else { throw .failed(reason: "\(error)") }
                throw .side(side, .failed(reason: "\(error)"))
            }
        }
        _ = store.state.withLock { state in state.locks?.look(isBusy: false) }
        if sides.count == 2 { store.compare() }
        store.watch()
        return store
    }

    /// Opens sides that were left out, where they are back.
    func mend() async {
        let plan = plan
        let missing: [StoreSide] = state.withLock { state in
            guard !state.isClosed, clock.now >= state.retryAt else { return [] }
            let missing: [StoreSide] =
                (plan.role == .app && state.primary == nil ? [.primary] : []) + (state.mirror == nil ? [.mirror] : [])
            if !missing.isEmpty { state.retryAt = clock.now + 1 }
            return missing
        }
        for side in missing {
            var opened = State()
            do throws(StoreOpenError) {
                // In an extension the view shows the mirror.
                try await plan.open(side, in: &opened, clock: clock, log: log, view: view)
            } catch { continue }
            guard opened.sides.allSatisfy({ $0.partitionKey == partitionKey }) else {
                await opened.closeSides()
                continue
            }
            state.withLock { [opened] state in
                state.primary = state.primary ?? opened.primary
                state.mirror = opened.mirror ?? state.mirror
                state.locks = opened.locks ?? state.locks
                if opened.mirror != nil { state.arrival = opened.arrival }
                state.status.isBehind = plan.role == .app
            }
            log.write(.info, "a side of a mirrored store is back", [("side", side.rawValue)])
            view?.invalidateAll()
        }
    }
}

extension StoreOpenError {
    /// Whether a side is refused rather than left out for a while.
    fileprivate var staysSo: Bool {
        switch self {
        case .inUse, .misplaced: true
        default: false
        }
    }
}

extension MirroredStore.State {
    var sides: [SQLiteStore] { [primary, mirror].compactMap { $0 } }

    fileprivate mutating func closeSides() async {
        for store in sides { await store.close() }
        (primary, mirror, locks) = (nil, nil, nil)
    }
}

extension MirrorPlan {
    func files(_ side: StoreSide) -> DatabaseFiles? {
        (side == .primary ? primary : mirror).map { DatabaseFiles(folder: $0, name: file) }
    }

    /// Opens one side. A new one gets the key of the other, so that both have the same partitions.
    func open(
        _ side: StoreSide, in state: inout MirroredStore.State, clock: any Clock, log: any Log, view: (any HitView)?
    ) async throws(StoreOpenError) {
        guard let files = files(side) else { throw .failed(reason: "an app names a primary location") }
        try files.checkPlace()
        do throws(FileError) {
            try Folder.makeAll(files.folder)
            let other = self.files(side == .primary ? .mirror : .primary)
            if files.partitionKey == nil, let key = other?.partitionKey { try files.keep(partitionKey: key) }
            // A file that can't be written is no side; SQLite itself would only tell at the first commit.
            guard unsafe access(files.folder, W_OK) == 0 else { throw FileError("access") }
        } catch {
            throw .failed(reason: "\(error.storeError)")
        }
        var options = options
        options.sharing = side == .primary ? .primary : .mirror
        // What one process does not keep others may need.
        options.mode = .automatic
        let showsView = side == .primary || role == .extension
        let store = try await SQLiteStore.opening(
            folder: files.folder, name: file, options: options, clock: clock, log: log, view: showsView ? view : nil)
        if side == .primary {
            state.primary = store
            return
        }
        do {
            state.locks = try MirrorLocks(files, role: role, mayDeliver: delivers)
            state.arrival = try await store.newestStamps().arrival
            state.mirror = store
        } catch {
            await store.close()
            throw error as? StoreOpenError ?? .failed(reason: "\(error)")
        }
    }
}
