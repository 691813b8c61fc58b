package import CacheCore
import HTTPModel

/// Answers /cache, /metrics, /health, /problems and /openapi.yaml (design 9). Safe from any task.
package struct ManagementService: ManagementHandler {
    let context: ServiceContext
    let counters: Counters
    let stores: any StoreKeeping
    let actions: any ActionKeeping
    let events: EventHub
    let operationCounters: OperationCounters
    /// Seconds since 1970.
    let startedAt: Double
    let invalidateView: @Sendable () -> Void
    let isReady: @Sendable () -> Bool
    let pinned: @Sendable () -> Int
    let pinChanged: @Sendable (EntryKey, PinPriority?) -> Void

    typealias Handler = @Sendable (ManagementCall) async throws -> ManagementReply
    typealias Methods = [(method: HTTPMethod, handler: Handler)]

    /// `counters` are the service's; `events` and `operationCounters` are told of all that happens. `invalidateView` forgets all
    /// prepared hits, called when policies changed; `isReady` tells /health/ready whether start is over and stop has not begun;
    /// `pinned` counts the pins, `pinChanged` is told of pins that were set and removed. All are callable from any thread.
    package init(
        context: ServiceContext, counters: Counters, events: EventHub, operationCounters: OperationCounters,
        stores: any StoreKeeping, actions: any ActionKeeping, invalidateView: @escaping @Sendable () -> Void,
        isReady: @escaping @Sendable () -> Bool,
        pinned: @escaping @Sendable () -> Int = { 0 },
        pinChanged: @escaping @Sendable (EntryKey, PinPriority?) -> Void = { _, _ in }
    ) {
        self.context = context
        self.counters = counters
        self.events = events
        self.operationCounters = operationCounters
        self.stores = stores
        self.actions = actions
        self.invalidateView = invalidateView
        self.isReady = isReady
        self.pinned = pinned
        self.pinChanged = pinChanged
        startedAt = context.clock.now
    }

    package func handle(
        _ exchange: any Exchange, path: String, query: QueryParameters, access: Access
    ) async throws {
        let segments = path.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
            .map { Percent.decode($0) }
        guard let methods = methods(segments) else {
            throw Problem(.notFound, "There is nothing at this path. /openapi.yaml lists all.")
        }
        let asked = exchange.head.method == .head ? .get : exchange.head.method
        guard let handler = methods.first(where: { $0.method == asked })?.handler else {
            var allowed = methods.map(\.method.rawValue)
            if allowed.contains("GET") { allowed.append("HEAD") }
            throw Problem(
                .methodNotAllowed, "Allowed here: \(allowed.joined(separator: ", ")).",
                fields: ["Allow": allowed.joined(separator: ", ")])
        }
        try PageParameters.check(query, asked, segments)
        let reply = try await handler(ManagementCall(context, exchange, query: query, access: access))
        try await reply.send(to: exchange, from: context.store)
    }

    private func methods(_ path: [String]) -> Methods? {
        guard path.first == "cache" else { return openPages(path) }
        switch path.count > 1 ? path[1] : "" {
        case "": return path.count == 1 ? [(.get, overview)] : nil
        case "entry", "entries": return entryMethods(Array(path.dropFirst()))
        case "operations": return operationMethods(Array(path.dropFirst(2)))
        case "uploads": return uploadMethods(Array(path.dropFirst(2)))
        case "conflicts": return conflictMethods(Array(path.dropFirst(2)))
        case "partitions": return partitionMethods(Array(path.dropFirst(2)))
        case "actions": return actionMethods(Array(path.dropFirst(2)))
        case "stores": return storeMethods(Array(path.dropFirst(2)))
        case "ui": return pageMethods(Array(path.dropFirst(2)))
        case "events" where path.count == 2: return [(.get, eventStream)]
        case "sync" where path.count == 2: return [(.post, sync)]
        default: return path.count == 2 ? settingMethods(path[1]) : nil
        }
    }
}
