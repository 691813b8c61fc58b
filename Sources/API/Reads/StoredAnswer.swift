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
                lastModified: representation.lastModified, exists: true, now: context.clock.now)
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
        let wishes = request.head.fields
        if request.method == .get, representation.status == 200, let ranges = ranges(of: representation) {
            switch ranges.resolve(length: representation.content.length) {
            case .unsatisfiable:
                fields.removeAll { $0.name.asciiLowercased.hasPrefix("content-") }
                fields["Content-Range"] = ContentRange(unsatisfiedLength: representation.content.length).text
                exchange.respond(head(416, fields), body: [])
            case .satisfiable(let parts):
                WantedDigests.add(to: &fields, wishes, content: representation.content, isPart: true)
                try await send(parts, of: representation.content, fields) { head(206, $0) }
            }
            return
        }
        if representation.hasBody { WantedDigests.add(to: &fields, wishes, content: representation.content) }
        try await sendWhole(representation, head(representation.status, fields))
    }

    private func ranges(of representation: Representation) -> ByteRangeSet? {
        guard let text = conditions.combined("Range"),
            Conditional.rangeApplies(
                request: conditions, etag: representation.etag, lastModified: representation.lastModified,
                now: context.clock.now)
        else { return nil }
        return ByteRangeSet(text)
    }

    private func sendWhole(_ representation: Representation, _ head: ResponseHead) async throws {
        let content = representation.content
        if request.method == .head {
            var head = head
            if representation.hasBody { head.fields["Content-Length"] = String(content.length) }
            exchange.respond(head, body: [])
        } else if !representation.hasBody || content.length == 0 {
            exchange.respond(head, body: [])
        } else if let bytes = content.inline {
            exchange.respond(head, body: bytes)
        } else {
            let source = try await context.store.read(content, range: nil)
            exchange.begin(head, length: content.length)
            try await BodyPump.run(source, to: exchange)
        }
    }

    private func send(
        _ parts: [Range<Int64>], of content: Content, _ fields: HTTPFields, head: (HTTPFields) -> ResponseHead
    ) async throws {
        var fields = fields
        let merged = parts.count == 1 ? parts : ByteRangeSet.coalesce(parts)
        if merged.count == 1 {
            fields["Content-Range"] = ContentRange(merged[0], length: content.length).text
            let source = try await context.store.read(content, range: merged[0])
            exchange.begin(head(fields), length: Int64(merged[0].count))
            try await BodyPump.run(source, to: exchange)
            return
        }
        let body = MultipartRanges(merged, length: content.length, contentType: fields["Content-Type"])
        fields["Content-Type"] = body.contentType
        let first = try await context.store.read(content, range: merged[0])
        exchange.begin(head(fields), length: body.length)
        do {
            for (index, range) in merged.enumerated() {
                try await exchange.write(body.heads[index])
                let source = index == 0 ? first : try await context.store.read(content, range: range)
                while let piece = try await source.next() { try await exchange.write(piece) }
            }
            try await exchange.write(body.end)
        } catch {
            exchange.abort()
            return
        }
        exchange.finish()
    }
}

/// Carries a body to a client whose answer has begun.
enum BodyPump {
    /// Sends all of it and finishes; breaks the connection off where it is cut, so that no part is taken for the whole.
    /// `start`: what was taken from the source before.
    static func run(_ source: any BodySource, to exchange: any Exchange, after start: [UInt8] = []) async throws {
        do {
            if !start.isEmpty { try await exchange.write(start) }
            while let piece = try await source.next() { try await exchange.write(piece) }
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
