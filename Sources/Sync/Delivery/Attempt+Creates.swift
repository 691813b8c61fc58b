import CacheCore
import HTTPModel

/// POST that makes a new member (design 4, "POST"; 5, "Once in effect").
extension Attempt {
    private var collection: EntryKey { EntryKey(partition: operation.partition, target: operation.target) }
    private var rule: CollectionRule { CollectionNaming.rule(for: operation.target, in: settings) }

    func created(_ answer: KeptAnswer, _ sighting: Sighting) async -> DeliveryOutcome {
        let body = await lookout.json(answer.content)
        guard let target = newTarget(answer.fields, body: body) else {
            return .delivered(
                answer: answer, newTarget: nil, newBase: .unknown, copies: ServerCopies.lists(of: operation))
        }
        if let name = name(of: target, body: body) { _ = memory.take(member: name, of: collection) }
        let key = EntryKey(partition: operation.partition, target: target)
        var copies = ServerCopies.lists(of: operation) + [.expire(key)]
        var base = Base(etag: sighting.etag, mediaType: operation.effectiveType, content: operation.effective)
        if sighting.content.length > 0, sighting.etag != nil,
            sighting.fields["Content-Location"].map({
                OriginTarget.of($0, at: operation.target, under: context.origin.base) == target
            }) ?? true
        {
            var copy = sighting
            copy.status = 200
            base = copy.base
            copies += ServerCopies.seen(copy, as: key, policy: operation.policy, epoch: context.store.epoch)
                .map(ServerCopies.explicitly)
        }
        if sighting.etag == nil { base = .unknown }
        return .delivered(answer: answer, newTarget: target, newBase: base, copies: copies)
    }

    func newTarget(_ fields: HTTPFields, body: JSONValue?) -> Target? {
        CollectionNaming.newTarget(
            of: operation.target, answer: fields, body: body, base: context.origin.base, rule: rule)
    }

    /// What the list will know the member by: the id in the body, else the last segment of its target.
    private func name(of target: Target, body: JSONValue?) -> String? {
        if let item = body.flatMap({ JSONPointer(rule.item)?.value(in: $0) }),
            let id = JSONPointer(rule.id)?.value(in: item)
        {
            return id.string ?? id.numberText
        }
        return target.path.split(separator: "/").last.map { Percent.decode($0) }
    }

    /// Reads the list before the drain's first create there; an outcome where that shows that nothing can be sent now.
    func readBaseline() async -> DeliveryOutcome? {
        guard !memory.hasBaseline(collection), !mustVerify else { return nil }
        switch await lookout.members(
            of: operation.target, fields: operation.fields, partition: operation.partition)
        {
        case .members(let members): memory.keepBaseline(Set(members.byName.keys), of: collection)
        case .unreadable: memory.keepBaseline(nil, of: collection)
        case .notNow:
            // Without it, a lost answer could not be decided later: better to wait.
            return context.network.state.isOnline
                ? .retry(at: context.clock.now + backoff, answer: operation.lastAnswer, reason: nil) : .notSent
        }
        return nil
    }

    /// The look after a create of unknown outcome; nil: no trace of it, to be sent again.
    func verifyCreate() async -> DeliveryOutcome? {
        let failed = DeliveryOutcome.failed(reason: "outcome-unknown", answer: operation.lastAnswer)
        guard !memory.hasBaseline(collection) || memory.knownMembers(of: collection) != nil else { return failed }
        switch await lookout.members(of: operation.target, fields: operation.fields, partition: operation.partition) {
        case .notNow: return lookAgain()
        case .unreadable: return failed
        case .members(let members):
            let sent = await lookout.json(operation.body)
            switch members.judge(sent: sent, known: memory.knownMembers(of: collection)) {
            case .absent:
                memory.keepBaseline(Set(members.byName.keys), of: collection)
                return nil
            case .undecided: return failed
            case .created(let name):
                guard memory.take(member: name, of: collection) else { return lookAgain() }
                let target = CollectionNaming.member(named: name, of: operation.target)
                return .delivered(
                    answer: nil, newTarget: target, newBase: .unknown,
                    copies: ServerCopies.lists(of: operation)
                        + [.expire(EntryKey(partition: operation.partition, target: target))])
            }
        }
    }
}
