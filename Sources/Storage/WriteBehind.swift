import CacheCore
import Synchronization

/// Has changes written as a strategy says. Copies that it leaves for later are kept in memory: they show at once, and go to the
/// database together, after some seconds, when there are many, or before anything that must come after them. Callable from any task.
final class WriteBehind: Sendable {
    /// Seconds that a copy waits at most.
    static let delay = 2.0
    private static let most = 256

    private struct State {
        /// In the order of their coming.
        var waiting: [(key: EntryKey, change: StoreChange)] = []
        var byKey: [EntryKey: [StoreChange]] = [:]
        /// How often some of them went to the database.
        var generation = 0
        var isScheduled = false
    }
    private let state = Mutex(State())
    private let turn = KeyedLock<String>()
    private let clock: any Clock
    private let log: any Log
    private let strategy: any WriteStrategy
    private let view: (any HitView)?
    /// In a struct: a function that a Mutex holds by itself is wrapped once more with each look at it.
    private struct Writer: Sendable { var write: Write }
    private let writer = Mutex<Writer?>(nil)

    /// Puts changes into the database in one transaction.
    typealias Write =
        @Sendable (_ changes: [StoreChange], _ durable: Bool, _ updatesView: Bool) async throws(StoreError) -> Void

    init(_ strategy: any WriteStrategy, view: (any HitView)?, clock: any Clock, log: any Log) {
        self.strategy = strategy
        self.view = view
        self.clock = clock
        self.log = log
    }

    /// Set once, before the first commit.
    func writes(_ write: @escaping Write) { writer.withLock { $0 = Writer(write: write) } }

    private func write(_ changes: [StoreChange], _ durable: Bool, _ updatesView: Bool) async throws(StoreError) {
        guard let known = writer.withLock({ $0 }) else { throw .closed }
        try await known.write(changes, durable, updatesView)
    }

    /// What is durable of itself and is about copies alone is work in the background; the strategy decides how it is written.
    func commit(_ changes: [StoreChange], durable: Bool) async throws(StoreError) {
        guard changes.areOfCopies else {
            await flush()
            return try await write(changes, durable, true)
        }
        let plan = strategy.plan(isBackground: durable)
        guard plan.timing == .behind else {
            return try await write(changes, plan.timing == .durable, plan.updatesView)
        }
        await add(changes)
        for key in Set(changes.compactMap(\.entryKey)) { view?.invalidate(key) }
    }

    /// The entry as it will be once all is written; `written` reads it as it is.
    func entry(
        _ key: EntryKey, _ written: () async throws(StoreError) -> Entry?
    ) async throws(StoreError) -> Entry? {
        while true {
            let (waiting, generation) = changes(of: key)
            let there = try await written()
            if waiting.isEmpty { return there }
            // What went to the database meanwhile may have been followed by more.
            guard isCurrent(generation) else { continue }
            var entry = there ?? Entry(key: key)
            entry.apply(waiting)
            return entry
        }
    }

    /// Whether something waits for the entry.
    func holds(_ key: EntryKey) -> Bool { state.withLock { $0.byKey[key] != nil } }

    /// Takes changes that are about entries by key. Waits for the database only where too many are here.
    private func add(_ changes: [StoreChange]) async {
        let (isDue, isFirst) = state.withLock { state in
            for change in changes {
                guard let key = change.entryKey else { continue }
                state.waiting.append((key, change))
                state.byKey[key, default: []].append(change)
            }
            defer { state.isScheduled = true }
            return (state.waiting.count >= Self.most, !state.isScheduled)
        }
        if isDue {
            await flush()
        } else if isFirst {
            Task {
                await clock.sleep(until: clock.now + Self.delay)
                await flush()
            }
        }
    }

    /// Writes all that waits. What can't be written is lost, and can be fetched again.
    func flush() async {
        guard state.withLock({ !$0.waiting.isEmpty }) else { return }
        await turn.lock("")
        defer { turn.unlock("") }
        let changes = state.withLock { state in
            state.isScheduled = false
            return state.waiting.map(\.change)
        }
        if changes.isEmpty { return }
        do throws(StoreError) {
            try await write(changes, true, true)
        } catch {
            log.write(.warning, "answers could not be written behind", [("error", "\(error)")])
        }
        state.withLock { state in
            state.waiting.removeFirst(changes.count)
            state.byKey = Dictionary(grouping: state.waiting, by: \.key).mapValues { $0.map(\.change) }
            state.generation += 1
        }
    }

    /// What waits for the entry, and the number to ask `isCurrent` with.
    private func changes(of key: EntryKey) -> (changes: [StoreChange], generation: Int) {
        state.withLock { ($0.byKey[key] ?? [], $0.generation) }
    }

    /// Whether nothing went to the database since.
    private func isCurrent(_ generation: Int) -> Bool { state.withLock { $0.generation == generation } }
}

extension StoreChange {
    /// The entry that it is about, where that is one.
    var entryKey: EntryKey? {
        switch self {
        case .putCopy(let key, _), .putListed(let key, _), .putParts(let key, _), .removeParts(let key, _),
            .expire(let key), .removeEntry(let key), .setPolicy(let key, _), .setPin(let key, _, _):
            key
        default: nil
        }
    }

    fileprivate var isCopy: Bool {
        switch self {
        case .putCopy, .putListed, .putParts: true
        default: false
        }
    }

    /// Whether it may come with a copy without being more than that.
    fileprivate var goesWithCopy: Bool {
        switch self {
        case .removeParts, .setPolicy: true
        default: isCopy
        }
    }
}

extension [StoreChange] {
    /// Whether they keep what an origin answered and do nothing else: a strategy may decide about them.
    fileprivate var areOfCopies: Bool { contains(where: \.isCopy) && allSatisfy(\.goesWithCopy) }
}

extension Entry {
    /// As it will be once the changes are written.
    fileprivate mutating func apply(_ changes: [StoreChange]) {
        for change in changes {
            switch change {
            case .putCopy(_, let copy): keep(copy)
            case .putListed(_, let copy): _ = take(listed: copy)
            case .putParts(_, let partial): keep(partial)
            case .removeParts(_, let selecting): parts.removeAll { $0.head.selecting == selecting }
            case .setPolicy(_, let policy): self.policy = policy
            default: break
            }
        }
    }
}
