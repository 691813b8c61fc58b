import CacheCore
import HTTPModel

/// Prepares answers that were just given from the store for the hot path.
struct HitPublisher: Sendable {
    let view: any HitView
    let identities: HitIdentities
    private static let bodyLimit: Int64 = 256 << 10
    private static let policies: Set<FetchPolicy> = [
        .httpCache, .fetchFromCache, .fetchFromServiceOnCacheMiss, .fetchFromServiceOnCacheMissOrExpiry,
    ]

    /// To be taken before the entry is read.
    func ticket(_ key: EntryKey) -> UInt64 { view.ticket(key) }

    /// Offers a fresh whole 200, where the next plain GET would get the same and the view has room for it. `timeToLive` in seconds.
    func publish(
        _ copy: ServerCopy, request: ResourceRequest, policy: Policy, timeToLive: Double, ticket: UInt64,
        context: ServiceContext
    ) async {
        guard copy.status == 200, request.method == .get,
            copy.content.length <= Self.bodyLimit, Self.policies.contains(policy.fetchPolicy),
            request.requestPolicy.isEmpty, !request.persistentState,
            !copy.selecting.contains(where: { $0.name == "*" }), view.isWorthRoom(request.key),
            let body = try? await context.store.bytes(of: copy.content, limit: Self.bodyLimit),
            request.route == .files || showsEditsByKey(body, request)
        else { return }
        let now = context.clock.now
        let representation = Representation(copy, syncState: "synced", now: now)
        let answer = ResourceAnswer(request, base: context.origin.base)
        func answered(_ fields: HTTPFields) -> HTTPFields {
            var fields = answer.head(status: 200, fields: fields, cacheStatus: .hit(), syncState: "synced").fields
            fields.remove("Age")
            fields.remove("Cache-Status")
            return fields
        }
        func lines(_ fields: some Sequence<HTTPField>) -> [UInt8] {
            fields.flatMap { "\($0.name): \($0.value)\r\n".fieldBytes }
        }
        var fields = copy.fields
        fields["Accept-Ranges"] = "bytes"
        fields = answered(fields)
        let shared = answered(representation.notModifiedFields)
        var head = Array("HTTP/1.1 200 OK\r\nContent-Length: \(body.count)\r\n".utf8)
        head += lines(fields.lazy.filter { !shared.contains($0.name) })
        let notModifiedFrom = head.count
        var etag = 0..<0
        for field in fields where shared.contains(field.name) {
            head += lines(CollectionOfOne(field))
            guard field.name.asciiLowercased == "etag", let tag = copy.etag, tag.hasSameBytes(as: field.value) else {
                continue
            }
            etag = head.count - 2 - tag.fieldBytes.count..<head.count - 2
        }
        let chain = copy.fields.combined("Cache-Status").map { $0 + ", " } ?? ""
        let hit = PreparedHit(
            head: head, notModifiedFrom: notModifiedFrom, body: body, etag: etag,
            bornAt: now - Freshness.currentAge(of: copy, now: now), freshUntil: now + timeToLive,
            earlierCaches: chain.fieldBytes,
            selecting: copy.selecting.map { field in
                // The value as this client wrote it: equal bytes are equal once normalised.
                (Array(field.name.utf8), request.head.fields.combined(field.name)?.fieldBytes ?? [])
            })
        view.publish(hit, for: request.key, route: request.route, ticket: ticket)
        identities.learn(request, context.settings.hot)
    }

    /// Whether each edit that may show in it invalidates its key: an item, or a list without a query whose members lie under
    /// it (`Operation.shownIn`). Members of parallel arrays may lie anywhere.
    private func showsEditsByKey(_ body: [UInt8], _ request: ResourceRequest) -> Bool {
        switch ListSign(ofStart: body) {
        case .array: request.target.query == nil
        case .parallel: false
        case .none: request.target.query == nil || request.settings.collection(for: request.target) == nil
        }
    }
}
