import CacheCore
import HTTPModel

/// Answers GET and HEAD under /resources and /files (design 3).
struct ReadHandler: Sendable {
    let context: ServiceContext
    let counters: Counters
    let flights: Flights
    let publisher: HitPublisher
    let errors: ErrorAnswers

    func handle(_ request: ResourceRequest, _ exchange: any Exchange) async throws {
        switch context.queue.resolve(request.target, of: request.key.partition) {
        case .itself: break
        case .moved(let target):
            let head = ResponseHead(
                status: 308,
                fields: [
                    "Location": request.route.prefix + target.text,
                    "Cache-Status": CacheStatus.hit(detail: "MOVED").text,
                ])
            exchange.respond(head, body: [])
            return
        case .gone:
            throw ResourceAnswer.marked(.temporaryGone, .hit(detail: "GONE"))
        }
        for attempt in 1... {
            do {
                return try await answer(request, exchange, mayLookAgain: attempt < Self.attempts)
            } catch is LookAgain {
                continue
            } catch let error as StoreError {
                // Bytes that made way for newer ones after they were looked up are no damage: look again.
                guard case .corrupt = error, attempt < Self.attempts else { throw error }
            }
        }
    }

    /// How often a read looks for what is not there.
    private static let attempts = 3

    /// Throws `LookAgain` only where it may.
    private func answer(_ request: ResourceRequest, _ exchange: any Exchange, mayLookAgain: Bool) async throws {
        let isOnline = context.network.state.isOnline
        guard isOnline || request.isProven else {
            throw ResourceAnswer.marked(
                Problem(
                    .credentialUnproven,
                    "The origin is unreachable and has not yet accepted this credential. Use one that it has accepted."),
                CacheStatus(detail: "OFFLINE"))
        }
        let query = try ListQueryRead(request, context, counters, exchange)
        let ticket = publisher.ticket(request.key)
        let flightTicket = mayLookAgain ? flights.ticket : nil
        let entry = request.isProven ? try await context.store.entryIfKept(request.key) : nil
        let policy = request.policy(entry: entry)
        let edit = request.isProven ? context.queue.localEdit(of: request.key) : nil
        let read = Read(
            context: context, counters: counters, flights: flights, errors: errors, request: request,
            exchange: exchange,
            policy: policy, entry: entry,
            conditions: edit == nil ? await EditTags.replaced(in: request, context.queue) : request.head.fields,
            syncState: edit?.syncState ?? (context.queue.conflict(of: request.key) == nil ? "synced" : "conflict"),
            isPublishable: edit == nil ? publisher : nil, ticket: ticket, flightTicket: flightTicket)
        if let query {
            try await query.answer(read.kept(edit))
        } else if let edit, !request.persistentState {
            try await read.answer(edit, isOnline: isOnline)
        } else {
            try await read.answer(isOnline: isOnline)
        }
    }
}

/// `hf-` tags in the preconditions of a read. They never reach the origin (design 3).
enum EditTags {
    private static let names = ["If-None-Match", "If-Match", "If-Range"]

    /// The request's fields with each `hf-` tag replaced by the tag that the delivered edit got at the origin.
    static func replaced(in request: ResourceRequest, _ queue: any WriteQueue) async -> HTTPFields {
        var fields = request.head.fields
        for index in fields.indices where names.contains(where: { $0.equalsIgnoringASCIICase(fields[index].name) }) {
            guard fields[index].value.hasBytes(of: "\"hf-") else { continue }
            var tags: [String] = []
            for element in FieldList.split(fields[index].value, backslashEscapes: false) {
                let tag = String(element)
                guard tag.hasBytes(of: "\"hf-") else {
                    tags.append(tag)
                    continue
                }
                if let known = await queue.serverTag(forDelivered: tag, of: request.key) { tags.append(known) }
            }
            fields[index].value = tags.joined(separator: ", ")
        }
        // An If-Match without a tag that is known matches nothing: it must stay. The others are then without meaning.
        fields.removeAll { field in
            field.value.isEmpty
                && (field.name.equalsIgnoringASCIICase("If-None-Match")
                    || field.name.equalsIgnoringASCIICase("If-Range"))
        }
        return fields
    }
}
