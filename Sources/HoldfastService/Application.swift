import API
import CacheCore
import EventServer
import Glibc
import HTTPModel
import OriginClient
import Storage
import Sync
import Synchronization

/// The whole service: made in the order of its dependencies, stopped in the reverse one.
struct Application {
    private let configuration: Configuration
    private let log: any Log
    private let settings: SettingsBox
    private let store: StoreRouter
    private let origin: CurlOrigin
    private let connectivity: Connectivity
    private let deliverer: Deliverer
    private let refresher: Refresher
    private let actions: ActionRunner
    private let server: EventServer<Service<ShardedHitView>>
    private let view: ShardedHitView
    private let hub: EventHub
    private let spareMemory: Task<Void, Never>
    private let readiness: Readiness

    /// Whether start is over and stop has not begun.
    private final class Readiness: Sendable {
        let isReady = Atomic(false)
    }

    /// Opens the store, loads the queue and listens. Throws a text for the operator.
    init(_ configuration: Configuration) async throws(ConfigurationError) {
        self.configuration = configuration
        let log = StderrLog(threshold: configuration.logLevel)
        let clock = SystemClock()
        let settings = SettingsBox(configuration.settings)
        let view = ShardedHitView(memoryLimit: configuration.memoryLimit)
        let options = StoreOptions(
            maxStoreSize: configuration.maxStoreSize, receiptRetention: configuration.settings.receiptRetention,
            maxBodySize: configuration.settings.maxBodySize, mode: configuration.cacheMode.mode,
            strategy: configuration.strategy, policies: { settings.current.policies })
        let standard: SQLiteStore
        do {
            standard = try SQLiteStore.open(
                folder: configuration.data, options: options, clock: clock, log: log, view: view)
        } catch {
            throw ConfigurationError("data: \(configuration.data): \(error)")
        }
        let store = StoreRouter(standard, view: view)
        let hub = EventHub(clock: clock, epoch: store.epoch, heartbeat: configuration.heartbeat)
        let operationCounters = OperationCounters()
        let events = EventFanOut([EventLog(log: log), operationCounters, hub])
        let origin: CurlOrigin
        let originOptions = try Self.originOptions(configuration)
        do { origin = try CurlOrigin(originOptions) } catch { throw ConfigurationError("origin: \(error)") }
        let connectivity = Connectivity(origin: origin, clock: clock, settings: settings, events: events, log: log)
        let queue = OperationQueue(store: store, clock: clock, events: events, settings: settings)
        do { try await queue.load() } catch { throw ConfigurationError("the queue can't be read: \(error)") }
        let locations = StoreLocations(data: configuration.data, roots: configuration.storeRoots)
        let stores = StoreManager(
            router: store, queue: queue,
            locations: locations,
            data: configuration.data, options: options, clock: clock, events: events, log: log, view: view)
        do { try await stores.open(configuration.stores) } catch {
            await store.close()
            throw error
        }
        do { try await Self.load(configuration.cacheMode.data, into: store, now: clock.now) } catch {
            await store.close()
            throw ConfigurationError("cacheMode: \((error as? Problem)?.detail ?? "\(error)")")
        }
        let credentials = CredentialKeeper()
        let sources = CredentialSources(
            settings: settings, clock: clock, log: log,
            partitionsOf: { fields in
                store.partitionKeys.map { key in
                    Identity.of(fields: fields, target: Target(unchecked: ""), settings: settings.current) {
                        Self.partitionHash($0, key: key)
                    }.partition
                }
            })
        let deliverer = Deliverer(
            DeliveryContext(
                queue: queue, store: store, origin: origin, network: connectivity, credentials: credentials,
                sources: sources, settings: settings, clock: clock, log: log,
                makeID: { IDs.record(now: clock.now) }, digest: SHA256.digest(of:)))
        connectivity.onOnline { deliverer.cameOnline() }

        let context = ServiceContext(
            store: store, uploads: standard, origin: origin, queue: queue, delivery: deliverer, network: connectivity,
            credentials: credentials, settings: settings, expiries: store.expiries, clock: clock, events: events,
            log: log,
            digest: SHA256.digest(of:), hash: { PassingHash($0) }, partitionHash: { Self.partitionHash($1, key: $0) })
        let readiness = Readiness()
        let counters = Counters(view: view)
        let flights = Flights(expiries: store.expiries)
        let entries = EntryRefresh(context: context, counters: counters)
        let refresher = Refresher(
            store: store, network: connectivity, credentials: credentials, sources: sources, settings: settings,
            clock: clock, log: log, entries: entries)
        connectivity.onOnline { refresher.wake() }
        let pinChanged: @Sendable (EntryKey, PinPriority?) -> Void = { key, priority in
            queue.pinChanged(key, to: priority)
            refresher.pinChanged(key, to: priority)
        }
        let pinsChanged: @Sendable (Entry) -> Void = { entry in
            pinChanged(entry.key, entry.pin)
            context.announce(entry)
        }
        refresher.onRelease(pinsChanged)
        let files = SnapshotFolder(beside: standard) { try locations.resolve($0) }
        var works = ActionWorks.all(
            store: store, network: connectivity, credentials: credentials, sources: sources, settings: settings,
            originBase: origin.base, entries: entries, stores: stores, clock: clock, log: log,
            pinned: pinsChanged)
        let snapshots = SnapshotWork(context: context, files: files)
        works[.export] = snapshots
        works[.import] = snapshots
        let actions = ActionRunner(
            store: standard, network: connectivity, credentials: credentials, sources: sources, clock: clock,
            events: events, log: log, works: works)
        connectivity.onOnline { actions.wake() }
        let service = Service(
            context: context, view: view, writes: WriteService(context: context, flights: flights),
            management: ManagementService(
                context: context, counters: counters, events: hub, operationCounters: operationCounters,
                stores: stores, actions: actions, invalidateView: { view.invalidateAll() },
                isReady: { readiness.isReady.load(ordering: .relaxed) },
                pinned: { refresher.pinnedCount },
                pinChanged: pinChanged),
            counters: counters, flights: flights)
        do {
            let addresses = configuration.listen + (configuration.manageListen.map { [$0] } ?? [])
            var listeners: [ListenAddress] = []
            for address in addresses { listeners.append(try ListenAddress(parsing: address)) }
            let server = EventServer(
                listeners: listeners, threads: configuration.threads, limits: Self.limits(configuration),
                handler: service)
            try server.start()
            self.server = server
        } catch {
            await store.close()
            throw ConfigurationError("\(error)")
        }
        credentials.keep { queue.partitions }
        credentials.onArrival { partition in
            queue.credentialArrived(for: partition)
            actions.credentialArrived(for: partition)
        }
        _ = await sources.current()
        deliverer.start()
        refresher.start()
        await actions.start()
        readiness.isReady.store(true, ordering: .relaxed)
        self.readiness = readiness
        self.log = log
        self.settings = settings
        self.store = store
        self.origin = origin
        self.connectivity = connectivity
        self.deliverer = deliverer
        self.refresher = refresher
        self.actions = actions
        self.view = view
        self.hub = hub
        SpareMemory.giveBackCode()
        spareMemory = SpareMemory.keepReturning(clock)
        log.write(
            .info, "listening",
            [("addresses", server.boundAddresses.joined(separator: ", ")), ("origin", origin.base)])
    }

    /// Takes new settings over: policies, credentials, limits of requests. Addresses and folders stay. Where they can't be read all stays.
    func reload(_ read: () throws(ConfigurationError) -> Configuration) {
        do throws(ConfigurationError) {
            let read = try read().onAddresses(of: configuration)
            settings.replace(read.settings)
            server.take(Self.limits(read))
        } catch {
            return log.write(.error, "not reloaded", [("error", "\(error)")])
        }
        log.write(.info, "reloaded", [])
        view.invalidateAll()
        hub.emit(.settings(.policies))
        refresher.wake()
    }

    /// As when an application goes to the background.
    func saveInBackground() async { await save(for: .background) }

    private func save(for reason: SaveReason) async {
        do { _ = try await store.save(for: reason) } catch {
            log.write(.error, "saving failed", [("reason", "\(error)")])
        }
    }

    /// Stops listening, lets running work end, saves.
    func stop() async {
        readiness.isReady.store(false, ordering: .relaxed)
        spareMemory.cancel()
        hub.close()
        refresher.stop()
        await server.stop(deadline: 5)
        await actions.stop()
        await deliverer.stop(deadline: SystemClock().now + 3)
        connectivity.stop()
        await save(for: .shutdown)
        await store.close()
        origin.shutdown()
    }

    /// The snapshot that the cache begins with.
    private static func load(_ data: String?, into store: StoreRouter, now: Double) async throws {
        guard let data else { return }
        let snapshot = SnapshotImport(store: store, digest: SHA256.digest(of:), hash: { PassingHash($0) }, now: now)
        try await snapshot.read(data).intake.commit()
    }

    private static func originOptions(_ configuration: Configuration) throws(ConfigurationError) -> OriginOptions {
        if let file = configuration.caFile, unsafe access(file, R_OK) != 0 {
            throw ConfigurationError("caFile: \(file) can't be read: \(unsafe String(cString: strerror(errno)))")
        }
        do {
            var options = try OriginOptions(base: configuration.origin)
            options.caFile = configuration.caFile
            options.connectTimeout = configuration.connectTimeout ?? options.connectTimeout
            options.firstByteTimeout = configuration.firstByteTimeout ?? options.firstByteTimeout
            options.idleTimeout = configuration.idleTimeout ?? options.idleTimeout
            options.totalTimeout = configuration.totalTimeout
            return options
        } catch {
            throw ConfigurationError("origin: \(error)")
        }
    }

    private static func limits(_ configuration: Configuration) -> ServerLimits {
        var limits = ServerLimits()
        limits.body = configuration.settings.maxBodySize
        if let connections = configuration.maxConnections { limits.connections = Int64(connections) }
        if let headTime = configuration.headTime { limits.headTime = headTime }
        if let writeTime = configuration.writeTime { limits.writeTime = writeTime }
        if let idle = configuration.idleConnectionTime { limits.idleTime = idle }
        return limits
    }

    /// The first 128 bits of an HMAC-SHA-256 with the store's key.
    private static func partitionHash(_ identity: [UInt8], key: [UInt8]) -> PartitionID {
        let code = HMACSHA256.code(of: identity, key: key)
        func word(_ range: Range<Int>) -> UInt64 { code[range].reduce(0) { $0 << 8 | UInt64($1) } }
        return PartitionID(high: word(0..<8), low: word(8..<16))
    }
}
