import CacheCore
import HTTPModel
import Synchronization

/// A list answered with the members that `Sync-Filter` chooses, in the order of `Sync-Sort`: from the effective copies, never
/// from the origin (design 3, "Collections").
struct ListQueryRead: Sendable {
    let context: ServiceContext
    let counters: Counters
    let request: ResourceRequest
    let exchange: any Exchange
    let query: MemberQuery
    /// The two fields as they came.
    private let text: String

    /// nil where the request asks for neither. Throws `bad-query`.
    init?(_ request: ResourceRequest, _ context: ServiceContext, _ counters: Counters, _ exchange: any Exchange) throws
    {
        let filter = request.head.fields.combined("Sync-Filter")
        let sort = request.head.fields.combined("Sync-Sort")
        guard request.route == .resources, filter != nil || sort != nil else { return nil }
        query = try MemberQuery(filter: filter, sort: sort)
        text = "\(filter ?? "")\n\(sort ?? "")"
        self.context = context
        self.counters = counters
        self.request = request
        self.exchange = exchange
    }

    private static let status = CacheStatus.hit(detail: "LOCAL_QUERY")
    /// Rows that go to the store, or come from it, at a time.
    private static let batch = 500

    /// `list`: the effective copy of the target; nil where there is none.
    func answer(_ list: Representation?) async throws {
        guard let list, list.exists else {
            throw ResourceAnswer.marked(
                Problem(.notCached, "Filters and sorts are answered from the cache. Read the list once without them."),
                CacheStatus(detail: "LOCAL_QUERY"))
        }
        let document = try await document(list)
        let overlay = ListOverlay(context: context, request: request)
        let pending = overlay.isNeeded ? try await overlay.changes(in: document) : ListOverlay.Changes()
        let head = head(list, pending)
        switch Conditional.evaluate(
            request: request.head.fields, method: request.method, etag: head.fields["ETag"], lastModified: nil,
            exists: true, now: context.clock.now)
        {
        case .proceed: break
        case .notModified:
            exchange.respond(ResponseHead(status: 304, fields: head.fields), body: [])
            return
        case .failed:
            throw ResourceAnswer.marked(
                Problem(.precondition, "The list has another version than the request names."), Self.status)
        }
        counters.hit(request.key)
        guard request.method == .get else {
            exchange.begin(head, length: nil)
            exchange.finish()
            return
        }
        let selection = try await select(ListRows(document, pending.changes))
        exchange.begin(head, length: nil)
        try await BodyPump.run(SelectedList(document, selection, batch: Self.batch), to: exchange)
    }

    private func document(_ list: Representation) async throws -> ListDocument {
        let limit = request.settings.maxJSONSize
        guard list.content.length <= limit else { throw ResourceAnswer.marked(ListOverlay.tooLarge, Self.status) }
        guard ListBytes.areReadable(list.fields),
            let document = ListDocument(
                try await context.store.bytes(of: list.content, limit: limit), at: request.target,
                rule: request.settings.collectionRule(for: request.target), originBase: context.origin.base)
        else {
            throw ResourceAnswer.marked(
                Problem(.badQuery, "Sync-Filter and Sync-Sort are for lists; this resource is none."), Self.status)
        }
        return document
    }

    /// As a list with edits has it, with a tag for these members in this order.
    private func head(_ list: Representation, _ pending: ListOverlay.Changes) -> ResponseHead {
        let edits =
            pending.changes.members.map { "\($0.key.text) \($0.value.tag ?? "")" }.sorted()
            + pending.changes.additions.map { "\($0.target.text) \($0.tag)" }
        let source = [list.content.digest.hex, text] + edits
        let digest = context.digest(Array(source.joined(separator: "\n").utf8))
        let state = pending.changes.isEmpty ? list.syncState : pending.syncState
        let fields = Representation(
            list: Content(digest: digest, length: 0, inline: nil), fields: list.fields, syncState: state
        ).fields
        return ResourceAnswer(request, base: context.origin.base).head(
            status: 200, fields: fields, cacheStatus: Self.status, syncState: state)
    }

    private func select(_ rows: ListRows) async throws -> any MemberSelection {
        let selection = try await context.store.select(query)
        var waiting: [ListRow] = []
        for row in rows {
            waiting.append(row)
            guard waiting.count == Self.batch else { continue }
            try await selection.add(waiting)
            waiting = []
        }
        if !waiting.isEmpty { try await selection.add(waiting) }
        return selection
    }
}

/// The text of a list with the selected members in place of all, piece by piece.
private final class SelectedList: BodySource {
    private let list: ListDocument
    private let selection: any MemberSelection
    private let batch: Int
    private let state: Mutex<State>

    private struct State {
        var parts: ArraySlice<ListDocument.Part>
        /// Whether a member of the column at hand was written.
        var isWithin = false
    }

    init(_ list: ListDocument, _ selection: any MemberSelection, batch: Int) {
        self.list = list
        self.selection = selection
        self.batch = batch
        state = Mutex(State(parts: list.parts[...]))
    }

    func next() async throws -> [UInt8]? {
        while let part = state.withLock({ $0.parts.first }) {
            guard case .column(let column, _) = part else {
                state.withLock { _ = $0.parts.popFirst() }
                if case .text(let range) = part { return Array(list.bytes[range]) }
                continue
            }
            let rows = try await selection.next(batch)
            if !rows.isEmpty { return piece(rows, column) }
            try await selection.rewind()
            state.withLock { state in
                _ = state.parts.popFirst()
                state.isWithin = false
            }
        }
        return nil
    }

    private func piece(_ rows: [ListRow], _ column: ListColumn) -> [UInt8] {
        let isWithin = state.withLock { state in
            defer { state.isWithin = true }
            return state.isWithin
        }
        var text: [UInt8] = []
        for (index, row) in rows.enumerated() {
            if isWithin || index > 0 { text.append(UInt8(ascii: ",")) }
            text += row[column]
        }
        return text
    }

    func cancel() {}
}
