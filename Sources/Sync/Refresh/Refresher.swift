package import CacheCore
import HTTPModel
import Synchronization

/// Keeps copies fresh while nobody asks for them (seeds/semantics 1.2, "periodic refresh"; 1.8).
///
/// At the start, whenever the service comes online and when a pin is set, pinned entries that have expired or have no copy yet are
/// fetched, those of high priority first. Where `periodicRefreshPolicy` says so, so is everything else that has expired: once after
/// the start, or at each interval too. Without such a policy the start evicts what expired under EVICT_ON_EXPIRY_AT_STARTUP.
/// Callable from any task.
package final class Refresher: Sendable {
    private struct Guarded: Sendable {
        var run: Task<Void, Never>?
        var timer: Task<Void, Never>?
        /// Whether pins may be there for what is itself no longer pinned.
        var mustRelease = true
    }

    private let store: any Store
    private let network: any Network
    private let fetcher: EntryFetcher
    private let settings: SettingsBox
    private let clock: any Clock
    private let log: any Log
    private let pinned = PinnedKeys()
    private let released = Listener<Entry>()
    private let guarded = Mutex(Guarded())
    /// What makes the task look again; signals that come meanwhile are one.
    private let signals: AsyncStream<Void>
    private let signal: AsyncStream<Void>.Continuation

    private static let pageSize = 200

    package init(
        store: any Store, network: any Network, credentials: CredentialKeeper, sources: CredentialSources,
        settings: SettingsBox, clock: any Clock, log: any Log, entries: any EntryRefreshing
    ) {
        self.store = store
        self.network = network
        fetcher = EntryFetcher(
            network: network, keys: RefreshKeys(credentials: credentials, sources: sources), entries: entries, log: log)
        self.settings = settings
        self.clock = clock
        self.log = log
        (signals, signal) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Begins, once.
    package func start() {
        let startedAt = clock.now
        let run = Task { await self.run(since: startedAt) }
        guarded.withLock { $0.run = run }
        wake()
    }

    /// How many entries are pinned, as of the last reading and what was set and removed since.
    package var pinnedCount: Int { pinned.count }

    /// A pin was set or removed.
    package func pinChanged(_ key: EntryKey, to priority: PinPriority?) {
        pinned.set(priority, of: key)
        if priority == nil { guarded.withLock { $0.mustRelease = true } }
        wake()
    }

    /// Sets what is told of entries that lost pins, because what led to them is no longer pinned.
    package func onRelease(_ call: @escaping @Sendable (Entry) -> Void) { released.set(call) }

    /// The service came online, or the settings have changed.
    package func wake() { signal.yield() }

    /// Ends. What a request under way brings is no longer kept once the store is closed.
    package func stop() {
        signal.finish()
        let (run, timer) = guarded.withLock { ($0.run, $0.timer) }
        run?.cancel()
        timer?.cancel()
    }

    private func run(since startedAt: Double) async {
        if settings.current.periodicRefreshPolicy == .none { await evictExpired(notSince: startedAt) }
        var isFirst = true
        var due = startedAt
        for await _ in signals {
            await releasePins()
            guard network.state.isOnline else { continue }
            let policy = settings.current.periodicRefreshPolicy
            let isDue = clock.now >= due
            let wantsAll = policy == .periodically ? isFirst || isDue : policy == .atStartup && isFirst
            let isDone = await round(wantsAll: wantsAll)
            let next = clock.now + settings.current.periodicRefreshInterval
            if isDone { isFirst = false }
            if isDone, wantsAll { due = next }
            if policy == .periodically || !isDone { wake(at: due > clock.now ? due : next) }
        }
    }

    private func wake(at time: Double) {
        let timer = Task { [weak self, clock] in
            await clock.sleep(until: time)
            if !Task.isCancelled { self?.wake() }
        }
        guarded.withLock { state in
            state.timer?.cancel()
            state.timer = timer
        }
    }

    // MARK: At the start

    /// Removes what has expired under EVICT_ON_EXPIRY_AT_STARTUP, but for what was confirmed since then.
    private func evictExpired(notSince startedAt: Double) async {
        await forEachPage { entries, settings in
            let going = entries.filter { entry in
                let policy = entry.policy(under: settings.policies)
                return policy.evictionPolicy == .evictOnExpiryAtStartup && entry.pin == nil
                    && hasExpired(entry, policy, settings)
            }
            guard !going.isEmpty else { return true }
            let changes = going.map { StoreChange.evict($0.key, ifOlderThan: startedAt) }
            do { try await store.commit(changes, durable: false) } catch {
                log.write(.warning, "expired copies could not be evicted", [("error", "\(error)")])
                return false
            }
            return true
        }
    }

    // MARK: Refreshing

    /// One look at what is due, pinned entries first. False where not all could be asked for: the origin is away or in trouble.
    private func round(wantsAll: Bool) async -> Bool {
        await readPins()
        let (high, normal) = pinned.all
        guard await fetcher.fetch(due(high)) else { return false }
        // An origin in trouble is asked for what matters most alone.
        guard network.state != .degraded else { return false }
        guard await fetcher.fetch(due(normal)) else { return false }
        guard wantsAll else { return true }
        return await forEachPage { entries, settings in
            await fetcher.fetch(entries.filter { $0.pin == nil && isDue($0, settings) }.map(\.key))
        }
    }

    /// Takes the pins from entries that are there for what is no longer pinned itself.
    private func releasePins() async {
        let mustRelease = guarded.withLock { state in
            defer { state.mustRelease = false }
            return state.mustRelease
        }
        guard mustRelease else { return }
        await readPins()
        let (high, normal) = pinned.all
        for key in high + normal {
            guard !Task.isCancelled, let entry = try? await store.entry(key) else { continue }
            for source in entry.pins.ancillary.keys {
                let owner = EntryKey(partition: key.partition, target: source)
                do throws(StoreError) {
                    guard try await store.entry(owner)?.pins.own == nil else { continue }
                    try await store.commit([.setPin(key, nil, for: source)], durable: true)
                    if let left = try await store.entry(key) { released.tell(left) }
                } catch {
                    guarded.withLock { $0.mustRelease = true }
                    log.write(.warning, "a pin could not be released", [("error", "\(error)")])
                }
            }
        }
    }

    /// Looks through all entries for pins, once an interval at most: a network that comes and goes is no reason.
    private func readPins() async {
        let now = clock.now
        guard pinned.beginReading(at: now, lifetime: settings.current.periodicRefreshInterval) else { return }
        var found: [EntryKey: PinPriority] = [:]
        let isWhole = await forEachPage { entries, _ in
            for entry in entries { found[entry.key] = entry.pin }
            return true
        }
        if isWhole { pinned.replace(by: found, readAt: now) }
    }

    private func due(_ keys: [EntryKey]) async -> [EntryKey] {
        let settings = settings.current
        var due: [EntryKey] = []
        for key in keys {
            guard let entry = try? await store.entry(key), entry.pin != nil, isDue(entry, settings) else { continue }
            due.append(key)
        }
        return due
    }

    private func isDue(_ entry: Entry, _ settings: Settings) -> Bool {
        let policy = entry.policy(under: settings.policies)
        guard !policy.noCache else { return false }
        guard let copy = entry.copies.first else { return entry.pin != nil }
        // A list tells of its members, and what is gone is nothing to keep ready.
        guard !copy.isListed || entry.pin != nil, !copy.isGone else { return false }
        return hasExpired(entry, policy, settings)
    }

    private func hasExpired(_ entry: Entry, _ policy: Policy, _ settings: Settings) -> Bool {
        entry.hasExpired(
            under: policy, epoch: store.epoch, targetedFields: settings.targetedFields, now: clock.now)
    }

    /// Hands all entries to `body`, page by page, with the settings of the moment, until it returns false or a page can't be read.
    @discardableResult
    private func forEachPage(_ body: ([Entry], Settings) async -> Bool) async -> Bool {
        var after: String?
        repeat {
            guard !Task.isCancelled else { return false }
            do {
                let page = try await store.entries(EntryFilter(), after: after, limit: Self.pageSize)
                guard await body(page.items, settings.current) else { return false }
                after = page.next
            } catch {
                log.write(.warning, "the entries could not be read for a refresh", [("error", "\(error)")])
                return false
            }
        } while after != nil
        return true
    }
}
