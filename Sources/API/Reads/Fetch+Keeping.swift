import CacheCore
import HTTPModel

/// Answers with content of their own: to the readers, and to the store where they may be kept.
extension Fetch {
    /// What is kept of an answer.
    fileprivate enum Keeping: Sendable {
        /// A word for `detail` of Cache-Status, where there is one to say.
        case nothing(String?)
        /// `parts`: what the beginning of it is kept as where the rest does not come.
        case whole(ServerCopy, parts: PartialCopy?)
        case part(PartialCopy)

        /// Of the whole, without content.
        var copy: ServerCopy? {
            switch self {
            case .nothing: nil
            case .whole(let copy, _): copy
            case .part(let parts): parts.head
            }
        }

        var parts: PartialCopy? {
            switch self {
            case .nothing: nil
            case .whole(_, let parts): parts
            case .part(let parts): parts
            }
        }
    }

    /// A body on its way from the origin, its head already landed.
    struct Transfer: Sendable {
        fileprivate var status: Int
        fileprivate var body: any BodySource
        fileprivate var length: Int64?
        fileprivate var extent: Extent?
        fileprivate var keeping: Keeping
        fileprivate var check: DigestCheck?
        fileprivate var writer: (any BodyWriter)?
        fileprivate var spool: Spool
        /// As it was when the origin was asked.
        fileprivate var lane: LaneStatus
    }

    /// Lands the flight. What is then still to be carried; nil where the body is here and nothing is kept of it.
    func take(
        _ response: OriginResponse, _ times: (request: Double, response: Double), _ lane: LaneStatus, _ flight: Flight,
        ticket: UInt64
    ) async -> Transfer? {
        if method == .head { await learn(fromHead: response, times, flight) }
        let extent = Extent(status: response.status, fields: response.fields)
        let length = response.fields["Content-Length"].flatMap { Int64($0) } ?? extent.map { Int64($0.range.count) }
        let check = digestCheck(response)
        var keeping = keeping(response, extent, times, isProven: check != nil)
        var reason: String?
        if case .nothing(let told) = keeping { reason = told }
        let writer =
            keeping.copy == nil
            ? nil : try? await context.store.makeBody(for: .copy, at: request.key.target, length: length)
        if writer == nil { keeping = .nothing(reason) }
        let spool = Spool(backing: writer)
        var held: PartialCopy?
        if case .part(let parts) = keeping { held = part?.parts?.combined(with: parts) }
        let reader = hasReader ? spool.makeReader() : nil
        let isRepeatable = keeping.copy == nil && length ?? .max <= ErrorAnswers.bodyLimit && mayRepeat(response)
        let whole = writer == nil && !isRepeatable ? response.whole : nil
        if let whole {
            check?.update(whole)
            guard check?.holds() ?? true else {
                reader?.cancel()
                flight.land(.failed(.badAnswer(reason: Self.otherBytes)))
                return nil
            }
            await spool.append(whole)
            spool.end(.complete)
        }
        let head = FlightHead(
            status: response.status, fields: response.fields, length: length, extent: extent, parts: held,
            isFill: part?.fill != nil, copy: keeping.copy, detail: reason, whole: whole, spool: spool)
        flight.land(
            .answered(head), reader: reader, isShareable: keeping.copy.map { isReusable($0) } ?? false)
        if whole != nil {
            await forget(after: response.status)
            return nil
        }
        if isRepeatable {
            await keepError(response, times, to: spool, ticket: ticket, check)
            return nil
        }
        return Transfer(
            status: response.status, body: resuming(response, extent, times), length: length, extent: extent,
            keeping: keeping, check: check, writer: writer, spool: spool, lane: lane)
    }

    private static let otherBytes = "the body is not the one that its digest describes"

    /// What the answer says of its body, where it says it readably: other bytes are never served as whole nor kept. (Repr-Digest of a
    /// part is of the whole: see `complete`.)
    private func digestCheck(_ response: OriginResponse) -> DigestCheck? {
        guard method == .get else { return nil }
        let names = response.status == 206 ? ["Content-Digest"] : DigestFields.names
        return try? DigestCheck(response.fields, fields: names, context.hash)
    }

    /// The body, which goes on where it is cut, if the origin lets it.
    private func resuming(
        _ response: OriginResponse, _ extent: Extent?, _ times: (request: Double, response: Double)
    ) -> any BodySource {
        guard method == .get else { return response.body }
        var plain = fields
        plain.removeAll { field in Read.preconditions.contains { $0.equalsIgnoringASCIICase(field.name) } }
        return ResumingBody(
            response, extent, head: copy(of: response, times),
            request: OriginRequest(method: method, target: request.target.text, fields: plain), context: context)
            ?? response.body
    }

    /// Carries the body to its readers and into the store.
    func carry(_ transfer: Transfer, _ flight: Flight) async {
        let (spool, extent, keeping) = (transfer.spool, transfer.extent, transfer.keeping)
        let isCurrent = { isUpToDate(flight) && context.queue.lane(of: request.key) == transfer.lane }
        let keepsCut = keeping.parts != nil
        switch await pump(transfer, keepsCut: keepsCut) {
        case .kept(let content, let last):
            await keep(keeping, content, extent, last: last, in: spool, of: flight, isCurrent)
            spool.end(.complete)
        case .passedOn:
            await forget(after: transfer.status)
            spool.end(.complete)
        case .cut(let content, let error):
            if let content {
                let parts = isCurrent() ? keeping.parts : nil
                await keep(parts, content, at: extent?.range.lowerBound ?? 0)
            }
            // Who sees the break and asks again must not join what has ended.
            flight.finish()
            spool.end(.failed(error))
        }
    }

    private func keeping(
        _ response: OriginResponse, _ extent: Extent?, _ times: (request: Double, response: Double), isProven: Bool
    ) -> Keeping {
        let decision = decision(on: response, isProven: isProven)
        guard decision.store else { return .nothing(decision.reason) }
        let copy = copy(of: response, times)
        let parts = extent?.total.flatMap { PartialCopy(head: copy, length: $0) }
        guard response.status == 206 else { return .whole(copy, parts: response.status == 200 ? parts : nil) }
        // An answer with a part that nobody asked for proves nothing.
        guard let parts, part?.fill != nil || fields.contains("Range") else { return .nothing("PARTIAL") }
        return .part(parts)
    }

    /// Commits what came whole, and lets the readers have the `last` piece.
    private func keep(
        _ keeping: Keeping, _ content: Content, _ extent: Extent?, last: [UInt8]?, in spool: Spool,
        of flight: Flight, _ isCurrent: () -> Bool
    ) async {
        switch keeping {
        case .nothing: break
        case .whole(var copy, _):
            copy.content = content
            // An older list says nothing of what its members are by now.
            guard await keep(copy, of: flight, isCurrent) else { break }
            await ListKeeper(
                context: context, request: request, isDurable: isDurable,
                earlier: revalidate.first { $0.selecting == copy.selecting }
            ).keep(copy)
        case .part(let parts):
            guard let extent, content.length == Int64(extent.range.count), isCurrent() else { break }
            await keep(parts, content, at: extent.range.lowerBound)
            // Long ones take their time: nobody waits for that.
            let isShort = parts.length <= RangeFill.shortLength
            if !isShort {
                if let last { await spool.append(last) }
                spool.end(.complete)
            }
            await complete(parts, of: flight, isCurrent)
            if !isShort { return }
        }
        if let last { await spool.append(last) }
    }

    /// Commits a copy, behind `former`. What was asked for before a write may show the state before it: it is stored as expired then, and
    /// not at all over what is known since. Whether it was stored as fresh as it came.
    @discardableResult
    func keep(
        _ copy: ServerCopy, with former: [StoreChange] = [], of flight: Flight, _ isCurrent: () -> Bool
    ) async -> Bool {
        var copy = copy
        if !isCurrent() {
            let known = try? await context.store.entry(request.key)
            let isReplaced = known?.copies.contains { !$0.isExpired } ?? false
            if isReplaced, hasExpired(since: flight) { return false }
            copy.isExpired = true
        }
        await commit(former + [.putCopy(request.key, copy)])
        // A write may have been noted while this was committed.
        let isOvertaken = !copy.isExpired && !isCurrent()
        if isOvertaken { await commit([.expire(request.key)]) }
        announce(copy)
        return !copy.isExpired && !isOvertaken
    }

    func announce(_ copy: ServerCopy) {
        context.events.emit(
            .entry(request.key, state: context.queue.syncState(of: request.key), deleted: copy.isGone))
    }

    /// Commits a piece that begins at `start`.
    private func keep(_ parts: PartialCopy?, _ content: Content, at start: Int64) async {
        guard let parts, content.length > 0, start + content.length <= parts.length else { return }
        let piece = PartialCopy.Piece(range: start..<start + content.length, content: content)
        await commit([
            .putParts(
                request.key,
                PartialCopy(validator: parts.validator, head: parts.head, length: parts.length, pieces: [piece]))
        ])
    }

    /// Makes a whole copy of parts that have become complete (RFC 9111 3.4).
    private func complete(_ parts: PartialCopy, of flight: Flight, _ isCurrent: () -> Bool) async {
        let entry = try? await context.store.entry(request.key)
        let all = entry?.parts.first { $0.validator.hasSameBytes(as: parts.validator) && $0.length == parts.length }
        guard let all, all.isComplete,
            let writer = try? await context.store.makeBody(for: .copy, at: request.key.target, length: all.length)
        else { return }
        let source = PartsSource(all, range: 0..<all.length, store: context.store)
        let check = try? DigestCheck(all.head.fields, fields: ["Repr-Digest"], context.hash)
        do {
            while let piece = try await source.next() {
                check?.update(piece)
                try await writer.append(piece)
            }
            guard check?.holds() ?? true else {
                writer.discard()
                context.log.write(.warning, "parts were dropped", [("error", Self.otherBytes)])
                return await commit([.removeParts(request.key, selecting: all.head.selecting)])
            }
            var copy = all.head
            copy.content = try await writer.finish()
            if isCurrent() { await keep(copy, of: flight, isCurrent) }
        } catch {
            // The parts stay, and serve as well.
            writer.discard()
            context.log.write(.warning, "parts could not be put together", [("error", "\(error)")])
        }
    }

    /// What an answer that is not kept says about what is.
    private func forget(after status: Int) async {
        if method == .get, status == 404 || status == 410 {
            await commit([.expire(request.key)])
        } else if let parts = part?.parts, (200...299).contains(status) || status == 416 {
            await commit([.removeParts(request.key, selecting: parts.head.selecting)])
        }
    }

    /// Hands an error on once it is kept, so that who has read it finds it kept.
    private func keepError(
        _ response: OriginResponse, _ times: (request: Double, response: Double), to spool: Spool, ticket: UInt64,
        _ check: DigestCheck?
    ) async {
        var bytes: [UInt8] = []
        do {
            while let piece = try await response.body.next() { bytes += piece }
        } catch {
            spool.end(.failed(error as? OriginError ?? .cutBody(reason: "the body ended early")))
            return
        }
        check?.update(bytes)
        guard check?.holds() ?? true else { return spool.end(.failed(.badAnswer(reason: Self.otherBytes))) }
        var copy = copy(of: response, times)
        copy.content = Content(digest: context.digest(bytes), length: Int64(bytes.count), inline: bytes)
        errors?.keep(copy, for: request.key, ticket: ticket)
        if !bytes.isEmpty { await spool.append(bytes) }
        spool.end(.complete)
    }

    private func mayRepeat(_ response: OriginResponse) -> Bool {
        mayStore
            && Storability.mayRepeat(
                method: method, requestFields: request.head.fields, status: response.status, fields: response.fields,
                policy: policy, isShared: isShared, isDelimited: response.isDelimited,
                targetedFields: request.settings.targetedFields)
    }

    private enum Pumped {
        /// With the piece that makes the body whole, held back until the copy is committed: who has read the whole answer may
        /// write at once, and that write must find the copy that guards it (design 4).
        case kept(Content, last: [UInt8]?)
        case passedOn
        /// With what came before.
        case cut(Content?, OriginError)
    }

    /// Moves the body. `keepsCut`: the beginning of one that is cut is of use.
    private func pump(_ transfer: Transfer, keepsCut: Bool) async -> Pumped {
        let (body, spool, check) = (transfer.body, transfer.spool, transfer.check)
        var writer = transfer.writer
        var received: Int64 = 0
        var last: [UInt8]?
        do {
            while let piece = try await body.next() {
                received += Int64(piece.count)
                check?.update(piece)
                do {
                    try await writer?.append(piece)
                } catch {
                    // A full store costs the copy, not the answer.
                    writer?.discard()
                    writer = nil
                    spool.loseBacking()
                }
                if writer == nil, !spool.hasReaders {
                    body.cancel()
                    return .cut(nil, .cancelled)
                }
                if writer != nil || check != nil, received == transfer.length {
                    last = piece
                } else {
                    await spool.append(piece)
                }
            }
        } catch {
            if !keepsCut { writer?.discard() }
            let beginning = keepsCut ? try? await writer?.finish() : nil
            return .cut(beginning, error as? OriginError ?? .cutBody(reason: "the body ended early"))
        }
        guard check?.holds() ?? true else {
            writer?.discard()
            context.log.write(.warning, "an answer was broken off", [("error", Self.otherBytes)])
            return .cut(nil, .badAnswer(reason: Self.otherBytes))
        }
        guard let writer, let content = try? await writer.finish() else {
            spool.loseBacking()
            if let last { await spool.append(last) }
            return .passedOn
        }
        return .kept(content, last: last)
    }
}
