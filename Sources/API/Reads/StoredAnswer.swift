import CacheCore
import HTTPModel

/// Answers from the store: preconditions, ranges, then the bytes (RFC 9110 13, 14).
struct StoredAnswer: Sendable {
    let context: ServiceContext
    let request: ResourceRequest
    /// The request's fields with edits' tags replaced by what the origin knows them as.
    let conditions: HTTPFields
    let exchange: any Exchange

    /// Throws before anything is sent where the bytes can't be read (`StoreError`) or a precondition fails (`Problem`).
    func send(_ representation: Representation, _ cacheStatus: CacheStatus) async throws {
        let answer = ResourceAnswer(request, base: context.origin.base)
        func head(_ status: Int, _ fields: HTTPFields) -> ResponseHead {
            answer.head(
                status: status, fields: fields, cacheStatus: cacheStatus, syncState: representation.syncState,
                age: representation.age)
        }
        if representation.exists {
            switch Conditional.evaluate(
                request: conditions, method: request.method, etag: representation.etag,
                lastModified: representation.lastModified, received: representation.received, exists: true,
                now: context.clock.now)
            {
            case .proceed: break
            case .notModified:
                exchange.respond(head(304, representation.notModifiedFields), body: [])
                return
            case .failed:
                throw ResourceAnswer.marked(
                    Problem(.precondition, "The resource has another version than the request names."), cacheStatus,
                    syncState: representation.syncState)
            }
        }
        var fields = representation.fields
        if representation.status == 200 { fields["Accept-Ranges"] = "bytes" }
        let digests = WantedDigests(request: request.head.fields, makeHash: context.hash)
        if request.method == .get, representation.status == 200, let ranges = ranges(of: representation) {
            let length = representation.bytes.length
            switch ranges.resolve(length: length) {
            case .unsatisfiable:
                fields.removeAll { $0.name.asciiLowercased.hasPrefix("content-") }
                fields["Content-Range"] = ContentRange(unsatisfiedLength: length).text
                exchange.respond(head(416, fields), body: [])
            case .satisfiable(let parts):
                digests.add(to: &fields, content: representation.bytes.content, isPart: true)
                let answer = RangeAnswer(parts, total: length, exchange)
                try await answer.send(fields) {
                    head(206, $0)
                } open: { index in
                    try await representation.bytes.read(answer.ranges[index], from: context.store)
                }
            }
            return
        }
        if representation.hasBody { digests.add(to: &fields, content: representation.bytes.content) }
        try await sendWhole(representation, head(representation.status, fields))
    }

    /// The bytes that a GET for the representation asks for; none where its ranges lie beyond the end.
    func wanted(of representation: Representation) -> [Range<Int64>] {
        let length = representation.bytes.length
        switch ranges(of: representation)?.resolve(length: length) {
        case nil: return [0..<length]
        case .unsatisfiable: return []
        case .satisfiable(let ranges): return ranges
        }
    }

    private func ranges(of representation: Representation) -> ByteRangeSet? {
        ranges(
            etag: representation.etag, lastModified: representation.lastModified, date: representation.received)
    }

    /// The ranges to be obeyed for a representation with these validators and this Date; nil: all of it (RFC 9110 14.2).
    func ranges(etag: String?, lastModified: String?, date: String?) -> ByteRangeSet? {
        guard let text = conditions.combined("Range"),
            Conditional.rangeApplies(
                request: conditions, etag: etag, lastModified: lastModified, date: date, now: context.clock.now)
        else { return nil }
        return ByteRangeSet(text)
    }

    private func sendWhole(_ representation: Representation, _ head: ResponseHead) async throws {
        let bytes = representation.bytes
        if request.method == .head {
            var head = head
            if representation.hasBody { head.fields["Content-Length"] = String(bytes.length) }
            exchange.respond(head, body: [])
        } else if !representation.hasBody || bytes.length == 0 {
            exchange.respond(head, body: [])
        } else if let all = bytes.inline {
            exchange.respond(head, body: all)
        } else {
            let source = try await bytes.read(0..<bytes.length, from: context.store)
            exchange.begin(head, length: bytes.length)
            try await BodyPump.run(source, to: exchange)
        }
    }
}

/// Carries a body to a client whose answer has begun.
enum BodyPump {
    /// Sends what was read `ahead` and the rest, and finishes; breaks the connection off where it is cut, so that no part is
    /// taken for the whole.
    static func run(_ source: any BodySource, ahead: [[UInt8]] = [], to exchange: any Exchange) async throws {
        do {
            for piece in ahead { try await exchange.write(piece) }
            if let file = source as? any FileSource {
                while let part = try await file.nextPart() { try await exchange.write(part) }
            } else {
                while let piece = try await source.next() { try await exchange.write(piece) }
            }
        } catch is ExchangeError {
            source.cancel()
            exchange.abort()
            return
        } catch {
            exchange.abort()
            return
        }
        exchange.finish()
    }
}
