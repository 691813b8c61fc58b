import CacheCore
import HTTPModel

/// Downloads ahead what a client will need (seeds/semantics 1.8). Begun anew after an interruption, it passes by what was brought up to
/// date since the action was created.
struct PrefetchWork: ActionWork {
    let store: any Store
    let settings: SettingsBox
    let originBase: String
    let fetches: ActionFetches

    /// More members than these are no set that somebody wants to keep.
    private static let memberLimit = 100_000

    func run(_ turn: ActionTurn) async throws -> Bool {
        guard case .prefetch(let source, let pin) = turn.action.request else { return true }
        await turn.note { progress in
            progress.done = 0
            progress.total = nil
        }
        func pinning(for source: Target?) -> ActionFetches.Pinning? {
            pin.map { ActionFetches.Pinning(priority: $0, source: source) }
        }
        switch source {
        case .targets(let targets): return await bring(targets, pinning(for: nil), turn)
        case .collection(let target):
            let found = try await list(from: target, turn) { pinning(for: $0 == target ? nil : target) }
            guard let found, await bring(found.members, pinning(for: target), turn) else { return false }
            return try await unpin(allBut: found.pages + found.members, pinning(for: target), turn)
        case .links(let target, let pointer):
            guard await bring([target], pinning(for: nil), turn) else { return false }
            let document = try await document(target, turn)
            guard let json = try? JSONValue(parsing: document.bytes) else { throw Self.unusable(target, "no JSON") }
            let linked = LinkedTargets.find(pointer, in: json, at: target, originBase: originBase)
            guard await bring(linked, pinning(for: target), turn) else { return false }
            return try await unpin(allBut: linked, pinning(for: target), turn)
        }
    }

    /// What the source of the pins led to before and no longer does needs to be kept no more.
    private func unpin(
        allBut targets: [Target], _ pin: ActionFetches.Pinning?, _ turn: ActionTurn
    ) async throws -> Bool {
        guard let source = pin?.source else { return true }
        let partition = turn.action.partition
        return try await fetches.unpin(
            allBut: Set(targets.map { EntryKey(partition: partition, target: $0) }),
            for: EntryKey(partition: partition, target: source))
    }

    /// Fetches what is not there or has expired.
    private func bring(_ targets: [Target], _ pin: ActionFetches.Pinning?, _ turn: ActionTurn) async -> Bool {
        await turn.note { $0.total = ($0.total ?? 0) + Int64(targets.count) }
        let settings = settings.current
        let keys = targets.map { EntryKey(partition: turn.action.partition, target: $0) }
        return await fetches.bring(keys, turn, pin: pin) { entry in
            guard let entry, let copy = entry.copies.first, !copy.isListed else { return true }
            return !entry.isSynced(since: turn.action.createdAt)
                && entry.hasExpired(
                    under: entry.policy(under: settings.policies), epoch: store.epoch,
                    targetedFields: settings.targetedFields, now: fetches.clock.now)
        }
    }

    /// The pages from that one on, which are fetched for that, and their members; nil where it had to stop.
    private func list(
        from target: Target, _ turn: ActionTurn, pin: (Target) -> ActionFetches.Pinning?
    ) async throws -> (pages: [Target], members: [Target])? {
        let rule = settings.current.collectionRule(for: target)
        var pages: Set<Target> = []
        var seen: Set<Target> = []
        var members: [Target] = []
        var next: Target? = target
        while let page = next, pages.insert(page).inserted {
            guard await bring([page], pin(page), turn) else { return nil }
            let document = try await document(page, turn)
            guard let list = ListDocument(document.bytes, at: page, rule: rule, originBase: originBase) else {
                throw Self.unusable(page, "no list. Configure where its members are in collections")
            }
            members += list.members.compactMap(\.target).filter { seen.insert($0).inserted }
            guard members.count <= Self.memberLimit else {
                throw Problem(.tooLarge, "It has more than \(Self.memberLimit) members. Prefetch parts of it.")
            }
            let fields = document.copy.fields
            next =
                ListedMembers.nextPage(
                    after: page, fields: fields, urlFields: settings.current.urlFields, originBase: originBase) ?? nil
        }
        return (Array(pages), members)
    }

    /// What is kept for the target.
    private func document(_ target: Target, _ turn: ActionTurn) async throws -> (copy: ServerCopy, bytes: [UInt8]) {
        let key = EntryKey(partition: turn.action.partition, target: target)
        guard let copy = try await store.entry(key)?.copies.first, (200..<300).contains(copy.status) else {
            throw Problem(.notCached, "The origin gave nothing to keep for \(target).")
        }
        return (copy, try await store.bytes(of: copy.content, limit: settings.current.maxJSONSize))
    }

    private static func unusable(_ target: Target, _ what: String) -> Problem {
        Problem(.badAnswer, "What the origin has at \(target) is \(what).")
    }
}
