import CacheCore
import HTTPModel

/// The part of a read that has to do with parts: of a copy that is not whole, of an answer that is arriving (RFC 9111 3.3, 3.4;
/// RFC 9110 14).
extension Read {
    /// What a request is to bring of a target.
    struct PartPlan {
        /// nil: all of it.
        var ask: PartAsk?
        /// The bytes that the client waits for.
        var wanted: Range<Int64>
    }

    /// The parts that the request selects. What may be a list in which edits show is read whole.
    var parts: PartialCopy? {
        guard request.method == .get, !policy.noCache else { return nil }
        return entry?.parts.first { parts in
            Selecting.matches(parts.head, request: request.head.fields)
                && !(overlay.isNeeded && ListBytes.areReadable(parts.head.fields))
        }
    }

    func representation(of parts: PartialCopy) -> Representation {
        Representation(parts, syncState: syncState, now: context.clock.now)
    }

    /// Answers where parts have all that is wanted; false where that is for others to do.
    func answerFromParts(isOnline: Bool) async throws -> Bool {
        guard let parts, var entry, stored.wanted(of: representation(of: parts)).allSatisfy(parts.covers) else {
            return false
        }
        entry.copies = [parts.head]
        switch plan(entry, isOnline: isOnline) {
        case .copy(let head, let wantsRefresh, let detail, let isStale):
            do {
                try await serve(head, detail: detail, isStale: isStale)
            } catch let error as StoreError {
                context.log.write(.error, "stored parts could not be read", [("error", "\(error)")])
                try? await context.store.commit(
                    [.removeParts(request.key, selecting: head.selecting)], durable: false)
                return false
            }
            if wantsRefresh { refresh() }
        case .origin(_, let stale, let forward):
            try await ask(
                revalidate: [], stale: stale, forward: CacheStatus.ForwardReason(rawValue: forward) ?? .stale)
        case .refuse: return false
        }
        return true
    }

    /// How a part is asked for; nil where parts play no role, or the client's own fields are to ask. `copies`: those whose
    /// validators would be sent.
    func partPlan(copies: [ServerCopy]) -> PartPlan? {
        let others = Self.preconditions.filter { $0 != "Range" && $0 != "If-Range" }
        guard request.method == .get, request.isProven, !policy.noCache, !request.hasSecretParameter,
            !CacheControl(request: request.head.fields).noStore, !others.contains(where: { conditions.contains($0) })
        else { return nil }
        if let parts { return partPlan(with: parts) }
        guard copies.isEmpty, !overlay.isConcerned, !conditions.contains("If-Range"),
            let ranges = conditions.combined("Range").flatMap({ ByteRangeSet($0) }), ranges.specs.count == 1,
            case .from(let first, let last) = ranges.specs[0], first < Int64.max
        else { return nil }
        let end = last.map { $0 == .max ? $0 : $0 + 1 } ?? .max
        return PartPlan(ask: RangeFill(first: first, last: last).map { PartAsk(fill: $0) }, wanted: first..<end)
    }

    /// Where only parts are kept: asks for their confirmation, and of another version for its beginning alone.
    var partRefresh: PartAsk? {
        parts.map { PartAsk(fill: RangeFill(first: 0, last: 0), parts: $0, isConfirmation: true) }
    }

    private func partPlan(with parts: PartialCopy) -> PartPlan? {
        let ranges = stored.wanted(of: representation(of: parts))
        guard let start = ranges.map(\.lowerBound).min(), let end = ranges.map(\.upperBound).max() else { return nil }
        let wanted = start..<end
        if ranges.allSatisfy(parts.covers) {
            let fill = RangeFill(first: start, last: end == parts.length ? nil : end - 1)
            return PartPlan(ask: PartAsk(fill: fill, parts: parts, isConfirmation: true), wanted: wanted)
        }
        // What lies between ranges far apart is not worth fetching.
        guard ranges.count == 1 || parts.length <= RangeFill.shortLength,
            let fill = RangeFill(wanted, lackedBy: parts)
        else { return nil }
        return PartPlan(ask: PartAsk(fill: fill, parts: parts), wanted: wanted)
    }

    /// Answers with what the client wants out of an answer that is arriving; false where it is to be passed on as it is.
    func sliced(_ head: FlightHead, _ reader: SpoolReader, _ cacheStatus: CacheStatus) async throws -> Bool {
        guard request.method == .get, head.status == 206 || head.status == 200 && conditions.contains("Range") else {
            return head.status == 416 && parts != nil ? try await askAnew(head, reader) : false
        }
        guard let extent = head.extent else {
            // A whole of unknown length is passed on whole: Range may be ignored (RFC 9110 14.2).
            return head.status == 206 ? try await askAnew(head, reader) : false
        }
        var fields = cacheStatus.collapsed ? head.copy?.fields ?? head.fields : head.fields
        for name in ["Content-Range", "Content-Digest"] { fields.remove(name) }
        fields["Accept-Ranges"] = "bytes"
        let answer = ResourceAnswer(request, base: context.origin.base)
        func answered(_ status: Int, _ fields: HTTPFields) -> ResponseHead {
            answer.head(
                status: status, fields: fields, cacheStatus: cacheStatus,
                syncState: head.copy == nil ? nil : syncState)
        }
        let flowing = FlowingBytes(head, extent, reader, store: context.store)
        let ranges = stored.ranges(
            etag: head.fields["ETag"], lastModified: head.fields["Last-Modified"], date: head.fields["Date"])
        switch ranges?.resolve(length: extent.total ?? extent.range.upperBound) {
        case nil:
            guard let total = extent.total, let sources = flowing.sources(of: [0..<total]) else {
                return try await askAnew(head, reader)
            }
            exchange.begin(answered(200, fields), length: total)
            try await BodyPump.run(sources[0], to: exchange)
        case .unsatisfiable:
            guard let total = extent.total else { return try await askAnew(head, reader) }
            reader.cancel()
            fields.removeAll { $0.name.asciiLowercased.hasPrefix("content-") }
            fields["Content-Range"] = ContentRange(unsatisfiedLength: total).text
            exchange.respond(answered(416, fields), body: [])
        case .satisfiable(let wanted):
            let ranges = RangeAnswer(wanted, total: extent.total, exchange)
            guard let sources = flowing.sources(of: ranges.ranges) else { return try await askAnew(head, reader) }
            try await ranges.send(fields) {
                answered(206, $0)
            } open: {
                sources[$0]
            }
        }
        return true
    }

    /// The answer to a fill is not what the client asked for: asks as the client did. False for any other answer.
    private func askAnew(_ head: FlightHead, _ reader: SpoolReader) async throws -> Bool {
        guard head.isFill else { return false }
        reader.cancel()
        try await ask(alone: [], stale: .never, forward: .miss)
        return true
    }
}

/// The bytes of an answer that is arriving, and of what is kept of the same representation.
struct FlowingBytes {
    private let head: FlightHead
    private let extent: Extent
    private let reader: SpoolReader
    private let store: any Store

    init(_ head: FlightHead, _ extent: Extent, _ reader: SpoolReader, store: any Store) {
        self.head = head
        self.extent = extent
        self.reader = reader
        self.store = store
    }

    /// One source a range, to be read in order; nil where some bytes of them are neither here nor arriving. Once.
    func sources(of ranges: [Range<Int64>]) -> [any BodySource]? {
        let arriving = ranges.map { $0.clamped(to: extent.range) }
        guard zip(ranges, arriving).allSatisfy({ before($0, $1).isEmpty || held(before($0, $1)) }),
            zip(ranges, arriving).allSatisfy({ after($0, $1).isEmpty || held(after($0, $1)) })
        else { return nil }
        var readers = [reader]
        while readers.count < ranges.count {
            guard let another = head.spool.makeReader() else { return nil }
            readers.append(another)
        }
        return ranges.indices.map { index in
            let (range, flow) = (ranges[index], arriving[index])
            let start = extent.range.lowerBound
            readers[index].narrow(
                to: flow.isEmpty ? Int64.max..<Int64.max : flow.lowerBound - start..<flow.upperBound - start)
            return ChainedSource(
                [
                    kept(before(range, flow)), readers[index], kept(after(range, flow)),
                ].compactMap { $0 })
        }
    }

    private func before(_ range: Range<Int64>, _ flow: Range<Int64>) -> Range<Int64> {
        flow.isEmpty ? range : range.lowerBound..<flow.lowerBound
    }

    private func after(_ range: Range<Int64>, _ flow: Range<Int64>) -> Range<Int64> {
        flow.isEmpty ? range.upperBound..<range.upperBound : flow.upperBound..<range.upperBound
    }

    private func held(_ range: Range<Int64>) -> Bool { head.parts?.covers(range) ?? false }

    private func kept(_ range: Range<Int64>) -> (any BodySource)? {
        guard !range.isEmpty, let parts = head.parts else { return nil }
        return PartsSource(parts, range: range, store: store)
    }
}
