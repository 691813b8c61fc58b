import CacheCore
import HTTPModel

/// A write that the origin has taken.
extension Attempt {
    func applied(_ response: OriginResponse, request: OutgoingWrite, sentAt: Double) async -> DeliveryOutcome {
        let received = context.clock.now
        let keeper = AnswerKeeper(context, at: operation.target)
        let content: Content
        do throws(AnswerKeeper.Failure) {
            content = try await keeper.whole(response, for: .operation)
        } catch .cut {
            return unknown(answer: nil)
        } catch {
            // It is in effect; only what it said is lost, for want of room.
            context.log.write(.warning, "an answer could not be kept", [("operation", operation.id.text)])
            let target = operation.kind == .create ? newTarget(response.fields, body: nil) : nil
            return .delivered(
                answer: KeptAnswer(status: response.status, fields: keeper.keptFields(response.fields)),
                newTarget: target, newBase: .unknown,
                copies: [.expire(operation.lane)] + ServerCopies.lists(of: operation),
                memberName: target.flatMap { memberName(of: $0, body: nil) })
        }
        let answer = KeptAnswer(
            status: response.status, fields: keeper.keptFields(response.fields),
            content: content.length == 0 ? nil : content)
        let sighting = Sighting(
            status: response.status, fields: answer.fields, content: content, requestTime: sentAt,
            responseTime: received, requestFields: request.fields)
        switch operation.kind {
        case .create: return await created(answer, sighting)
        case .action:
            return .delivered(
                answer: answer, newTarget: nil, newBase: .unknown,
                copies: [.expire(EntryKey(partition: operation.partition, target: operation.target))]
                    + touched(by: answer))
        case .edit, .resolution: break
        }
        if operation.method == .delete {
            return .delivered(
                answer: answer, newTarget: nil, newBase: .unknown,
                copies: goneCopies(after: answer.status) + touched(by: answer))
        }
        return await edited(answer, sighting, request: request)
    }

    // MARK: Edits

    /// With the base of what follows in the lane, what becomes of the server copy, and the version found instead of what was sent.
    private func edited(_ answer: KeptAnswer, _ sighting: Sighting, request: OutgoingWrite) async -> DeliveryOutcome {
        let key = operation.lane
        func delivered(
            _ base: Base, _ copies: [StoreChange], unseen: ConflictVersion? = nil, isUnseen: Bool = false
        ) -> DeliveryOutcome {
            .delivered(
                answer: answer, newTarget: nil, newBase: base, copies: copies + touched(by: answer), unseen: unseen,
                isUnseen: isUnseen)
        }
        if let copy = await proven(by: sighting, request: request) {
            let changes = ServerCopies.seen(copy, as: key, policy: operation.policy, epoch: context.store.epoch)
            return delivered(copy.base, changes.map(ServerCopies.explicitly))
        }
        if let etag = sighting.etag {
            return delivered(
                Base(etag: etag, mediaType: operation.effectiveType, content: operation.effective),
                await unproven(by: sighting))
        }
        // The next one needs a validator that the answer did not give (design 5, "base validator").
        guard context.queue.nextEdit(after: operation) != nil else {
            return delivered(.unknown, await unproven(by: sighting), isUnseen: true)
        }
        switch await look() {
        case .seen(let seen):
            guard let bytes = try? await bytes(for: seen) else {
                return delivered(.unknown, await unproven(by: sighting), isUnseen: true)
            }
            let showsIt = !seen.isGone && Verifier.holds(operation, seen, bytes: bytes)
            return delivered(
                seen.base, ServerCopies.seen(seen, as: key, policy: operation.policy, epoch: context.store.epoch),
                unseen: showsIt ? nil : seen.version)
        case .unreachable, .noCredential, .notNow:
            return delivered(.unknown, await unproven(by: sighting), isUnseen: true)
        // What can't be read can't be guarded.
        case .unreadable: return delivered(.unknown, await unproven(by: sighting))
        }
    }

    /// What was written stands for the version before until the target is read. Nothing where no copy was known.
    private func unproven(by answer: Sighting) async -> [StoreChange] {
        let key = operation.lane
        let policy = operation.policy
        guard operation.base != .unknown, !policy.noCache, let entry = try? await context.store.entry(key) else {
            return [.expire(key)]
        }
        let isForbidden = policy.respectNoStore && CacheControl(response: answer.fields).noStore
        let copy = WriteEffects.outdated(
            entry.copies, status: answer.status, sent: isForbidden ? nil : operation.effective,
            type: operation.effectiveType, coding: operation.effectiveCoding,
            requestTime: answer.requestTime, responseTime: answer.responseTime)
        return [.expire(key)] + (copy.map { [.putCopy(key, $0)] } ?? [])
    }

    /// The representation that the answer proves: its body where it says so or shows what was sent, or what was sent to a PUT with a
    /// strong tag.
    private func proven(by answer: Sighting, request: OutgoingWrite) async -> Sighting? {
        guard answer.status == 200 || answer.status == 201 || answer.status == 204 else { return nil }
        var copy = answer
        copy.status = 200
        if answer.content.length > 0 {
            let location = answer.fields["Content-Location"].flatMap {
                operation.target.resolving($0, under: context.origin.base)
            }
            if let location { return location == operation.target ? copy : nil }
            guard answer.etag != nil, answer.status != 204 else { return nil }
            let type = answer.fields["Content-Type"].flatMap { MediaType($0)?.essence }
            let expected = operation.effectiveType.flatMap { MediaType($0)?.essence }
            guard expected == nil || type == expected else { return nil }
            if request.body == answer.content { return copy }
            guard let sent = try? await lookout.bytes(request.body),
                let shown = try? await lookout.bytes(answer.content),
                EditTrace.isLeft(by: request.method, type: request.fields["Content-Type"], sent: sent, in: shown)
            else { return nil }
            return copy
        }
        guard request.method == .put, let tag = answer.fields.etag, tag.isStrong, let sent = request.body else {
            return nil
        }
        copy.content = sent
        copy.fields.remove("Content-Length")
        copy.fields["Content-Type"] = request.fields["Content-Type"]
        copy.fields["Content-Encoding"] = request.fields["Content-Encoding"]
        return copy
    }

    // MARK: What else changes

    func goneCopies(after status: Int) -> [StoreChange] {
        ServerCopies.gone(
            operation.lane, status: status, policy: operation.policy, at: context.clock.now, epoch: context.store.epoch)
    }

    /// Location, Content-Location and the lists expire (RFC 9111 4.4).
    func touched(by answer: KeptAnswer) -> [StoreChange] {
        var changes = ServerCopies.lists(of: operation)
        for name in ["Location", "Content-Location"] {
            guard let reference = answer.fields[name],
                let target = operation.target.resolving(reference, under: context.origin.base),
                target != operation.target
            else { continue }
            changes.append(.expire(EntryKey(partition: operation.partition, target: target)))
        }
        return changes
    }
}
