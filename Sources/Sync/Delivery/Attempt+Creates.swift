import CacheCore
import HTTPModel

/// POST that makes a new member (design 4, "POST"; 5, "Once in effect").
extension Attempt {
    private var collection: EntryKey { EntryKey(partition: operation.partition, target: operation.target) }
    private var rule: CollectionRule { settings.collectionRule(for: operation.target) }

    func created(_ answer: KeptAnswer, _ sighting: Sighting) async -> DeliveryOutcome {
        let body = try? await lookout.json(answer.content)
        guard let target = newTarget(answer.fields, body: body) else {
            return .delivered(
                answer: answer, newTarget: nil, newBase: .unknown, copies: ServerCopies.lists(of: operation))
        }
        let name = memberName(of: target, body: body)
        if let name { _ = memory.take(member: name, of: collection) }
        let key = EntryKey(partition: operation.partition, target: target)
        var copies = ServerCopies.lists(of: operation) + [.expire(key)]
        var base = Base(etag: sighting.etag, mediaType: operation.effectiveType, content: operation.effective)
        if sighting.content.length > 0, sighting.etag != nil,
            sighting.fields["Content-Location"].map({
                operation.target.resolving($0, under: context.origin.base) == target
            }) ?? true
        {
            var copy = sighting
            copy.status = 200
            base = copy.base
            copies += ServerCopies.seen(copy, as: key, policy: operation.policy, epoch: context.store.epoch)
                .map(ServerCopies.explicitly)
        }
        if sighting.etag == nil { base = .unknown }
        return .delivered(
            answer: answer, newTarget: target, newBase: base, copies: copies, memberName: name)
    }

    func newTarget(_ fields: HTTPFields, body: JSONValue?) -> Target? {
        CollectionNaming.newTarget(
            of: operation.target, answer: fields, body: body, base: context.origin.base, rule: rule)
    }

    /// What the list will know the member by: the id in the body, else the last segment of its target.
    func memberName(of target: Target, body: JSONValue?) -> String? {
        if let name = CollectionNaming.name(in: body, rule: rule) { return name }
        return target.path.utf8.split(separator: UInt8(ascii: "/")).last.map { Percent.decode(Substring($0)) }
    }

    /// Reads the list before the drain's first create there, and keeps it with the operation before that leaves; an outcome where
    /// nothing can be sent now.
    func noteMembersBefore() async -> DeliveryOutcome? {
        guard operation.membersBefore == nil else { return nil }
        var before = memory.membersBefore(of: collection)
        if before == nil {
            let time = context.clock.now
            switch await list() {
            case .members(let members):
                before = memory.keep(.marks(members.byName.keys.map(mark).sorted(), at: time), of: collection)
            case .unreadable: before = memory.keep(.unreadable, of: collection)
            // Without it, a lost answer could not be decided later: better to wait.
            case .unreachable: return .notSent
            case .noCredential: return .waitsForCredential
            case .notNow: return lookAgain()
            }
        }
        guard let before else { return lookAgain() }
        do {
            try await context.queue.keep(before, of: operation.id)
        } catch {
            context.log.write(
                .error, "a list could not be kept", [("operation", operation.id.text), ("error", "\(error)")])
            return lookAgain()
        }
        return nil
    }

    /// The look after a create of unknown outcome; nil: no trace of it, to be sent again.
    func verifyCreate() async -> DeliveryOutcome? {
        // What the list showed is kept before the first byte leaves: without it, none has left.
        guard let before = operation.membersBefore else { return nil }
        let failed = DeliveryOutcome.failed(reason: Reason.outcomeUnknown, answer: operation.lastAnswer)
        var known: Set<UInt64>?
        switch before {
        case .notRead: break
        case .unreadable: return failed
        case .marks(let marks, let time):
            // The members that others have made since are known as long as their receipts.
            guard time + settings.receiptRetention > context.clock.now else { return failed }
            guard let others = await membersOfOthers() else { return lookAgain() }
            known = Set(marks).union(others.map(mark))
        }
        switch await list() {
        case .unreachable: return .notSent
        case .noCredential: return .waitsForCredential
        case .notNow: return lookAgain()
        case .unreadable: return failed
        case .members(let members):
            let sent: JSONValue?
            do throws(StoreError) { sent = try await lookout.json(operation.body) } catch { return lookAgain() }
            switch members.judge(sent: sent, isKnown: known.map { known in { known.contains(mark($0)) } }) {
            case .absent: return nil
            case .undecided: return failed
            case .created(let name):
                guard memory.take(member: name, of: collection) else { return lookAgain() }
                // One that bears no id is known by its text, which is no name that the origin knows it by.
                let target = members.byName[name].flatMap { rule.name(ofObject: $0) }
                    .flatMap { operation.target.member(named: $0) }
                return .delivered(
                    answer: nil, newTarget: target, newBase: .unknown,
                    copies: ServerCopies.lists(of: operation)
                        + [target].compactMap(\.self).map {
                            .expire(EntryKey(partition: operation.partition, target: $0))
                        }, memberName: name)
            }
        }
    }

    private func list() async -> Lookout.ListResult {
        await lookout.members(of: operation.target, fields: operation.fields, partition: operation.partition)
    }

    /// Names of the members that other operations have made; nil where the receipts can't be read now.
    private func membersOfOthers() async -> Set<String>? {
        var names = memory.takenMembers(of: collection)
        var after: String?
        repeat {
            guard
                let page = try? await context.store.operations(
                    partitions: [operation.partition], states: [.delivered], after: after, limit: 500)
            else { return nil }
            for other in page.items where other.target == operation.target {
                if let name = other.memberName { names.insert(name) }
            }
            after = page.next
        } while after != nil
        return names
    }

    /// The first 64 bits of the name's digest.
    private func mark(_ name: String) -> UInt64 {
        context.digest(Array(name.utf8)).bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
    }
}
