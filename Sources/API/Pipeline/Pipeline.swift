import CacheCore
import HTTPModel

/// Takes a request through the checks in the order of design 12 to its handler, and turns what is thrown into an answer.
struct Pipeline: Sendable {
    let context: ServiceContext
    let counters: Counters
    let reads: ReadHandler
    let writes: any WriteHandler
    let management: any ManagementHandler

    private static let managed = ["/cache", "/metrics", "/health", "/problems", "/openapi.yaml"]

    /// Where a request goes.
    private enum Destination {
        case management(path: String, query: QueryParameters, Access)
        case answer(ResponseHead)
        case reads(ResourceRequest)
        case writes(ResourceRequest)
    }

    /// Answers the exchange in every case: once, or by breaking it off where an answer has begun that can't be ended.
    func run(_ inner: any Exchange) async {
        let exchange = GuardedExchange(inner)
        do {
            switch try destination(of: exchange.head) {
            case .management(let path, let query, let access):
                try await management.handle(exchange, path: path, query: query, access: access)
            case .answer(let head): exchange.respond(head, body: [])
            case .reads(let request): try await reads.handle(request, exchange)
            case .writes(let request): try await writes.handle(request, exchange)
            }
        } catch {
            answer(error, exchange)
        }
        // A handler that returned in the middle would leave the client waiting; without an answer the server says 500.
        if exchange.hasBegun { exchange.abort() }
    }

    private func answer(_ error: any Error, _ exchange: GuardedExchange) {
        if error is ExchangeError { return exchange.abort() }
        let problem = problem(of: error)
        if exchange.hasBegun {
            exchange.abort()
        } else {
            counters.count(.problems)
            respond(problem, exchange)
        }
    }

    private func problem(of error: any Error) -> Problem {
        switch error {
        case let problem as Problem: return problem
        case let error as StoreError:
            context.log.write(.error, "the store failed", [("error", "\(error)")])
            return .from(error)
        case let error as OriginError: return OriginFailure.problem(error, isHTTPCache: true)
        default:
            context.log.write(.error, "a request failed unexpectedly", [("error", "\(error)")])
            return Problem(.internalError, "This is a fault of Holdfast. The log says more.")
        }
    }

    private func respond(_ problem: Problem, _ exchange: any Exchange) {
        var fields = problem.fields
        fields["Content-Type"] = "application/problem+json"
        fields["X-Content-Type-Options"] = "nosniff"
        if !fields.contains("Cache-Control") { fields["Cache-Control"] = "no-store" }
        let path = Substring(exchange.head.target.utf8.prefix { $0 != UInt8(ascii: "?") })
        exchange.respond(
            ResponseHead(status: problem.status, fields: fields), body: problem.body(instance: String(path)))
    }

    private func destination(of head: RequestHead) throws -> Destination {
        let settings = context.settings.now
        let target = Self.originForm(head.target)
        let path = Substring(target.utf8.prefix { $0 != UInt8(ascii: "?") })
        let access = try Gatekeeper(snapshot: settings).admit(head, path: path)
        if Self.managed.contains(where: { path.isOrLies(under: $0) }) {
            let isElsewhere = settings.settings.manageListener.map { $0 != head.listener } ?? false
            if isElsewhere, path.hasPrefix("/cache") || path.hasPrefix("/metrics") {
                throw Problem(.notFound, "This is served on the management address alone.")
            }
            return .management(
                path: String(path), query: QueryParameters(Target(unchecked: String(target)).query), access)
        }
        let parsed = try ParsedTarget.parse(
            rawTarget: head.target, method: head.method, fields: head.fields,
            reservedParameters: settings.settings.reservedParameters)
        guard let parsed else {
            throw Problem(
                .notFound,
                "Ask under /resources, /files or /cache. /cache/ui is a page for people, /openapi.yaml lists all.")
        }
        // TRACE answers with the credentials that it came with, and CONNECT makes no tunnel here (RFC 9110 9.3.6, 9.3.8).
        if head.method == .trace || head.method.rawValue == "CONNECT" {
            throw Problem(
                .methodNotAllowed, "\(head.method) is not passed on to the origin.",
                fields: ["Allow": Self.allowedMethods])
        }
        if OriginFields.forwardsLeft(head) == 0 {
            let fields: HTTPFields = ["Allow": Self.allowedMethods, "Cache-Status": CacheStatus().text]
            return .answer(ResponseHead(status: 204, fields: fields))
        }
        let request = try resourceRequest(head, parsed, settings)
        // A target that no store has open is never read from one; what may not be kept passes through.
        if request.place.access != .open { return .writes(request) }
        return head.method == .get || head.method == .head ? .reads(request) : .writes(request)
    }

    private static let allowedMethods = "GET, HEAD, PUT, POST, PATCH, DELETE, OPTIONS"

    private func resourceRequest(
        _ head: RequestHead, _ parsed: ParsedTarget, _ now: SettingsSnapshot
    ) throws -> ResourceRequest {
        let requestPolicy =
            try head.fields.combined("Sync-Policy").map { try PolicyLayer(syncPolicyField: $0) } ?? PolicyLayer()
        if OriginFields.isLoop(head.fields) {
            throw Problem(.loop, "Holdfast's origin leads back to Holdfast. Check the configured origin.")
        }
        let place = context.store.place(of: parsed.target)
        let identity = context.identity(of: head.fields, at: parsed.target, settings: now.settings)
        return ResourceRequest(
            head: head, route: parsed.route,
            key: EntryKey(partition: identity.partition, target: parsed.target), credentials: identity.credentials,
            isProven: !identity.isPartial
                || context.credentials.isProven(identity.credentials, for: identity.partition),
            requestPolicy: requestPolicy, configuredPolicy: [now.settings.policies.layer(for: parsed.target)],
            saveIfOffline: parsed.saveIfOffline, deleteIfOffline: parsed.deleteIfOffline,
            persistentState: parsed.persistentState, settings: now,
            hasSecretParameter: Secrets.hasSecretParameter(parsed.target, settings: now.settings), place: place)
    }

    /// Path and query of absolute-form (RFC 9112 3.2.2).
    private static func originForm(_ target: String) -> Substring {
        guard target.utf8.first != UInt8(ascii: "/") else { return target[...] }
        let reference = URLReference(target)
        return Substring(reference.path + (reference.query.map { "?" + $0 } ?? ""))
    }
}

extension Substring {
    /// Whether it is that path or one below it.
    func isOrLies(under path: String) -> Bool {
        guard utf8.starts(with: path.utf8) else { return false }
        let rest = utf8.dropFirst(path.utf8.count)
        return rest.isEmpty || rest.first == UInt8(ascii: "/")
    }
}
