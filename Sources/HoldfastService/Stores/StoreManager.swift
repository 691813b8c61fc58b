import CacheCore
import HTTPModel
import Storage
import Synchronization

/// Attaches and detaches stores: opens their files, and shows them to the router and the queue in one step. Callable from any
/// task; one change after the other.
final class StoreManager: StoreKeeping {
    let router: StoreRouter
    private let queue: OperationQueue
    private let locations: StoreLocations
    private let register: StoreRegister
    private let options: StoreOptions
    private let clock: any Clock
    private let events: any EventSink
    private let log: any Log
    private let view: any HitView
    private let standard: StoreRequest
    private let turns = KeyedLock<String>()
    private let currentMode: Mutex<CacheMode>
    /// All that requests may ask about, in the order of their attaching.
    private let records = Mutex<[StoreRegister.Record]>([])

    /// `options` are the default store's, which the others have where they name none of their own.
    init(
        router: StoreRouter, queue: OperationQueue, locations: StoreLocations, data: String, options: StoreOptions,
        clock: any Clock, events: any EventSink, log: any Log, view: any HitView
    ) {
        self.router = router
        self.queue = queue
        self.locations = locations
        self.options = options
        self.clock = clock
        self.events = events
        self.log = log
        self.view = view
        register = StoreRegister(data: data)
        currentMode = Mutex(options.mode)
        var standard = StoreRequest(name: StoreName.standard, paths: [PathPattern("/**")])
        standard.location = data
        standard.fileName = "holdfast.sqlite"
        standard.maxStoreSize = options.maxStoreSize
        self.standard = standard
    }

    /// Attaches what was attached before and what the configuration names, before the first request. One that can't be opened
    /// is logged; its targets are not served then, as those of one that was detached.
    func open(_ configured: [StoreRequest]) async throws(ConfigurationError) {
        do { try await router.setMode(mode) } catch {
            throw ConfigurationError("the cache mode can't be set: \(error)")
        }
        var known = try register.read()
        for request in configured {
            known.removeAll { $0.request.name == request.name }
            known.append(.init(request: request, isConfigured: true))
        }
        for record in known {
            if !record.isDetached, await reopen(record) { continue }
            var record = record
            record.isDetached = true
            _ = try? await router.put(
                record.request.name, patterns: record.request.paths, store: nil, isStarted: true,
                waiting: record.waiting)
            records.withLock { [record] in $0.append(record) }
        }
    }

    private func reopen(_ record: StoreRegister.Record) async -> Bool {
        do {
            try await attach(record.request, isConfigured: record.isConfigured)
            return true
        } catch {
            let reason = (error as? Problem)?.detail ?? "\(error)"
            log.write(.error, "a store could not be attached", [("name", record.request.name), ("reason", reason)])
            return false
        }
    }

    // MARK: StoreKeeping

    func stores() async throws -> [StoreDescription] {
        var all = [try await describe(standard)]
        for record in records.withLock({ $0 }) where !record.isDetached {
            all.append(try await describe(record.request))
        }
        return all
    }

    var patterns: [(store: String, paths: [PathPattern])] {
        let attached = records.withLock { $0.filter { !$0.isDetached }.map(\.request) }
        return ([standard] + attached).map { ($0.name, $0.paths) }
    }

    func attach(_ requests: [StoreRequest]) async throws -> [StoreDescription] {
        try await inTurn {
            var attached: [StoreDescription] = []
            for request in requests {
                guard router.status(of: request.name) == nil else {
                    throw Problem(.storeExists, "\(request.name) is attached. Detach it first, or choose another name.")
                }
                try await attach(request)
                try save()
                attached.append(try await describe(request))
            }
            return attached
        }
    }

    func setStarted(_ isStarted: Bool, of name: String) async throws -> StoreDescription {
        try await inTurn {
            let request = try known(name)
            guard (router.status(of: name) == .started) != isStarted else { return try await describe(request) }
            if isStarted {
                try await queue.takingIn { try await router.start(name) }
            } else if router.status(of: name) == .started {
                try await queue.lettingGo(leavingOperations: true, of: { try await router.image(of: name) }) {
                    router.stop(name, detaching: false, $0)
                }
            }
            records.withLock { records in
                if let index = records.firstIndex(where: { $0.request.name == name }) {
                    records[index].request.isStarted = isStarted
                }
            }
            announce(name)
            try save()
            return try await describe(request)
        }
    }

    func move(_ name: String, to location: String) async throws -> StoreDescription {
        try await inTurn {
            var request = try known(name)
            guard let store = router.store(named: name) as? MirroredStore, store.hasBothSides else {
                throw Problem(
                    .badRequest,
                    "Only a primary location with a mirror moves while it runs. Detach this store with ?leave=true, move "
                        + "its files, and attach it there.")
            }
            guard !records.withLock({ $0.contains { $0.request.name == name && $0.isConfigured } }) else {
                throw Problem(.badRequest, "The configuration has this store. Change its location there.")
            }
            let folder = try folder(of: .primary, location)
            if try folder.hasSameBytes(as: self.folder(of: .primary, request.location)) {
                return try await describe(request)
            }
            do {
                let move = try await store.beginMove(to: folder)
                request.location = location
                try await queue.takingIn { [request] in
                    try await store.settle(move) { try record(request) }
                    return .empty
                }
                await store.end(move)
            } catch let error as StoreOpenError {
                throw problem(error)
            } catch let error as StoreError {
                throw Problem.from(error)
            }
            log.write(.info, "store moved", [("name", name)])
            return try await describe(request)
        }
    }

    func compare(
        _ name: String, byDigest: Bool, progress: @escaping @Sendable (MirrorStatus) -> Void
    ) async throws -> MirrorStatus {
        guard let store = router.store(named: name) else {
            throw Problem(.notFound, "No store of this name is attached.")
        }
        guard let store = store as? MirroredStore, store.hasBothSides else {
            throw Problem(.badRequest, "This process has one location of the store, and nothing to compare it with.")
        }
        do { return try await store.compare(byDigest: byDigest, progress: progress) } catch {
            throw Problem.from(error)
        }
    }

    func detach(_ name: String, leavingOperations: Bool) async throws {
        try await inTurn {
            _ = try known(name)
            guard let store = router.store(named: name) else { return }
            var image = QueueImage.empty
            try await queue.lettingGo(leavingOperations: leavingOperations, of: { try await router.image(of: name) }) {
                image = $0
                router.stop(name, detaching: true, $0)
            }
            records.withLock { [image] records in
                guard let index = records.firstIndex(where: { $0.request.name == name }) else { return }
                records[index].isDetached = true
                records[index].waiting = Set(image.operations.map(\.lane.target))
            }
            await store.close()
            events.emit(.store(name: name, state: "detached"))
            log.write(.info, "store detached", [("name", name), ("operations", String(image.operations.count))])
            try save()
        }
    }

    var mode: CacheMode { currentMode.withLock { $0 } }

    func setMode(_ mode: CacheMode) async throws {
        try await inTurn {
            if mode == .no {
                try await queue.whileEmpty { try await router.setMode(mode) }
            } else {
                try await router.setMode(mode)
            }
            currentMode.withLock { $0 = mode }
            log.write(.info, "cache mode", [("mode", mode.rawValue)])
        }
    }

    func save(for reason: SaveReason) async throws -> Bool {
        do { return try await router.save(for: reason) } catch { throw Problem.from(error) }
    }

    // MARK: Parts

    private func inTurn<Value: Sendable>(_ body: () async throws -> Value) async throws -> Value {
        await turns.lock("")
        defer { turns.unlock("") }
        return try await body()
    }

    private func known(_ name: String) throws -> StoreRequest {
        guard name != StoreName.standard else {
            throw Problem(.badRequest, "The store default has what no other one has. It stays attached and started.")
        }
        let record = records.withLock { $0.first { $0.request.name == name && !$0.isDetached } }
        guard let record else { throw Problem(.notFound, "No store of this name is attached.") }
        return record.request
    }

    private func attach(_ request: StoreRequest, isConfigured: Bool = false) async throws {
        let store = try await makeStore(request)
        do {
            try await queue.takingIn {
                try await router.put(
                    request.name, patterns: request.paths, store: store, isStarted: request.isStarted,
                    mode: request.mode)
            }
        } catch {
            await store.close()
            throw error
        }
        // What waited in the same files under another name is in the queue again.
        let former = records.withLock { $0 }.filter { $0.isDetached && hasSameFiles($0.request, request) }.map(
            \.request.name)
        for name in former { router.forgetWaiting(in: name) }
        records.withLock { records in
            records.removeAll { $0.request.name == request.name || former.contains($0.request.name) }
            records.append(.init(request: request, isConfigured: isConfigured))
        }
        announce(request.name)
        log.write(.info, "store attached", [("name", request.name), ("type", request.type.rawValue)])
    }

    private func hasSameFiles(_ one: StoreRequest, _ other: StoreRequest) -> Bool {
        func paths(_ request: StoreRequest) -> [String] {
            let folders = [request.role == .app ? request.location ?? locations.usual : nil, request.mirror]
            return folders.map { folder in
                folder.flatMap { try? locations.resolve($0) }.map { $0 + "/" + request.file } ?? ""
            }
        }
        return zip(paths(one), paths(other)).allSatisfy { $0.hasSameBytes(as: $1) }
    }

    private func announce(_ name: String) {
        guard let status = router.status(of: name) else { return }
        events.emit(.store(name: name, state: status.rawValue))
    }

    private func makeStore(_ request: StoreRequest) async throws -> any Store {
        guard !StoreRegister.isOwn(request.file) else {
            throw Problem(.storeUnusable, "The list of stores has this name. Choose another fileName.")
        }
        var options = options
        options.maxStoreSize = request.maxStoreSize ?? options.maxStoreSize
        options.mode = request.mode ?? mode
        options.strategy = request.strategy ?? options.strategy
        options.overwritesIncompatible = request.overwriteIncompatible
        do {
            if let mirror = request.mirror { return try await makeMirrored(request, mirror: mirror, options) }
            let store = try await SQLiteStore.opening(
                folder: try locations.resolve(request.location), name: request.file, options: options, clock: clock,
                log: log, view: view)
            return switch request.type {
            case .sqlite: store
            case .memory: VolatileStore(journal: store, limit: options.maxStoreSize, view: view)
            }
        } catch let error as StoreOpenError {
            throw problem(error)
        }
    }

    private func problem(_ error: StoreOpenError) -> Problem {
        switch error {
        case .inUse: Problem(.storeUnusable, "It is in use, here or by another process.")
        case .newerVersion, .foreign:
            Problem(.storeUnusable, "\(error). overwriteIncompatible deletes it and makes a new one.")
        case .misplaced(let reason): Problem(.storeUnusable, reason)
        case .failed: Problem(.storeUnusable, "\(error).")
        case .side(let side, let error): problem(error).at(side)
        }
    }

    /// The folder of one side; throws `location-not-allowed`.
    private func folder(of side: StoreSide, _ location: String?) throws -> String {
        do { return try locations.resolve(location) } catch let problem as Problem { throw problem.at(side) }
    }

    private func makeMirrored(
        _ request: StoreRequest, mirror: String, _ options: StoreOptions
    ) async throws -> any Store {
        let store = try await MirroredStore.open(
            MirrorPlan(
                primary: try request.role == .app ? folder(of: .primary, request.location) : nil,
                mirror: try folder(of: .mirror, mirror), file: request.file, role: request.role,
                delivers: request.delivers, isStrict: request.mirrorStrict, options: options),
            clock: clock, log: log, view: view)
        let name = request.name
        store.onChange { [queue, router] changes in
            // What is in a store that is not started the queue learns with its start.
            guard router.status(of: name) == .started else { return true }
            return try await queue.takingOver {
                let changes = try await changes()
                router.note(changes, of: name)
                return changes
            }
        } gained: { [queue] operations in
            try await queue.inherit(operations)
        }
        return store
    }

    /// Replaces the request of an attached store, here and on disk, or nowhere.
    private func record(_ request: StoreRequest) throws {
        func replace(by request: StoreRequest) -> StoreRequest? {
            records.withLock { records in
                guard let index = records.firstIndex(where: { $0.request.name == request.name }) else { return nil }
                defer { records[index].request = request }
                return records[index].request
            }
        }
        let former = replace(by: request)
        do { try save() } catch {
            if let former { _ = replace(by: former) }
            throw error
        }
    }

    /// Attached stores, and detached ones for as long as operations wait in them. The configuration tells of its own.
    private func save() throws {
        try register.write(
            records.withLock { $0.filter { $0.isDetached ? !$0.waiting.isEmpty : !$0.isConfigured } })
    }

    private func describe(_ request: StoreRequest) async throws -> StoreDescription {
        guard let store = router.store(named: request.name), let status = router.status(of: request.name) else {
            throw Problem(.notFound, "No store of this name is attached.")
        }
        var request = request
        if request.role == .app { request.location = request.location ?? locations.usual }
        request.strategy = request.strategy ?? options.strategy
        return StoreDescription(
            request: request, status: status, usage: await store.usage(),
            mirror: (store as? MirroredStore)?.status)
    }
}
