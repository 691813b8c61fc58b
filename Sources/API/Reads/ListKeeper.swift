import CacheCore
import HTTPModel

/// Makes the members of a list that was just kept known as entries, and learns what it lacks (design 3, "Collections").
struct ListKeeper: Sendable {
    let context: ServiceContext
    let request: ResourceRequest
    let isDurable: Bool
    /// The copy before, to tell what a list of parallel arrays held.
    let earlier: ServerCopy?

    /// Members in one commit, so that other commits need not wait long; and those that are known before the answer ends.
    private static let batch = 1000

    /// Members of a short list are known when this returns; those of a longer one follow in the background.
    func keep(_ copy: ServerCopy) async {
        guard copy.status == 200, !copy.isExpired, let list = await document(copy) else { return }
        var members = list.members
        var seen: Set<Target> = []
        do {
            guard try await keepBatch(of: &members, in: list, copy, &seen) else {
                try await drop(from: list, copy, but: seen)
                return
            }
        } catch {
            note(error)
            return
        }
        let (rest, known) = (members, seen)
        Task {
            var (members, seen) = (rest, known)
            do {
                while try await keepBatch(of: &members, in: list, copy, &seen) {}
                try await drop(from: list, copy, but: seen)
            } catch {
                note(error)
            }
        }
    }

    private func note(_ error: any Error) {
        context.log.write(.warning, "members of a list could not be stored", [("error", "\(error)")])
    }

    /// The copy as a list whose members are known: by a rule of the configuration, or as parallel arrays.
    private func document(_ copy: ServerCopy) async -> ListDocument? {
        let limit = request.settings.maxJSONSize
        guard ListBytes.areReadable(copy.fields), copy.content.length <= limit else { return nil }
        let rule = request.settings.collection(for: request.target)
        if rule == nil {
            guard let start = try? await context.store.start(of: copy.content, length: ListSign.length),
                ListSign(ofStart: start) == .parallel
            else { return nil }
        }
        guard let bytes = try? await context.store.bytes(of: copy.content, limit: limit),
            let list = ListDocument(
                bytes, at: request.target, rule: rule ?? .byDefault, originBase: context.origin.base)
        else { return nil }
        return rule != nil || list.isParallel ? list : nil
    }

    /// Keeps the next members; false where that were the last ones.
    private func keepBatch(
        of members: inout ListMembers, in list: ListDocument, _ copy: ServerCopy, _ seen: inout Set<Target>
    ) async throws -> Bool {
        var changes: [StoreChange] = []
        while changes.count < Self.batch, let member = members.next() {
            guard let target = member.target, mayKeep(target), seen.insert(target).inserted else { continue }
            let content = try await context.store.makeContent(list.representation(of: member), for: .copy)
            let key = EntryKey(partition: request.key.partition, target: target)
            changes.append(.putListed(key, ListedMembers.copy(member, content: content, from: copy)))
        }
        guard !changes.isEmpty else { return false }
        try await context.store.commit(changes, durable: isDurable)
        if seen.count <= Self.batch, copy.content != earlier?.content { announce(seen) }
        return changes.count == Self.batch
    }

    /// Tells the listeners of members that became known or changed, and have no copy of their own. Of those beyond the first batch
    /// they learn by the list itself: more would push what else happens out of what is kept for listeners that come back.
    private func announce(_ members: Set<Target>) {
        Task {
            for target in members {
                let key = EntryKey(partition: request.key.partition, target: target)
                guard let entry = try? await context.store.entry(key), entry.copies.first?.isListed ?? false else {
                    continue
                }
                context.announce(entry)
            }
        }
    }

    private func mayKeep(_ target: Target) -> Bool {
        !Secrets.hasSecretParameter(target, settings: request.settings)
            && !Policy(layers: [request.settings.policies.layer(for: target)]).noCache
    }

    /// What a whole list lacks expires, or is gone where the list is one of parallel arrays. A member that lies elsewhere may
    /// be in another list still: it expires.
    private func drop(from list: ListDocument, _ copy: ServerCopy, but kept: Set<Target>) async throws {
        guard ListedMembers.isWhole(request.target, fields: copy.fields, urlFields: request.settings.urlFields) else {
            return
        }
        let path = String(request.target.path)
        var gone: ServerCopy?
        var changes: [StoreChange] = []
        if list.isParallel {
            gone = .gone(at: copy.responseTime, epoch: copy.epoch)
            gone?.requestTime = copy.requestTime
            if let earlier, let before = await document(earlier) {
                let lacked = Set(before.members.compactMap(\.target)).subtracting(kept)
                changes = lacked.filter { !$0.isMember(ofPath: path) }
                    .map { .expire(EntryKey(partition: request.key.partition, target: $0)) }
            }
        }
        changes.append(.dropMembers(request.key.partition, path: path, except: kept, gone: gone))
        try await context.store.commit(changes, durable: isDurable)
    }
}
