package import CacheCore
import HTTPModel

/// All that Holdfast answers: the hot path from the view, everything else on a task of its own. Safe from all loop threads.
package struct Service<View: HitView>: RequestHandler {
    /// For /metrics.
    package let counters: Counters
    private let pipeline: Pipeline
    private let hits: HitPath<View>

    /// `flights` is shared with the writes, which tell it what they touch; so are `counters` with the management.
    package init(
        context: ServiceContext, view: View, writes: any WriteHandler, management: any ManagementHandler,
        counters: Counters, flights: Flights
    ) {
        self.counters = counters
        let identities = HitIdentities()
        pipeline = Pipeline(
            context: context, counters: counters,
            reads: ReadHandler(
                context: context, counters: counters, flights: flights,
                publisher: HitPublisher(view: view, identities: identities), errors: ErrorAnswers(view: view)),
            writes: writes, management: management)
        hits = HitPath(
            view: view, settings: context.settings, counters: counters, identities: identities)
    }

    package func answerAtOnce(
        _ request: borrowing RawRequest, into sink: inout some ResponseSink & ~Copyable
    ) -> Bool {
        hits.answer(request, into: &sink)
    }

    package func handle(_ exchange: any Exchange) {
        counters.count(.requests)
        let executor = Self.mayComputeLong(exchange.head) ? nil : exchange.executor
        Task(executorPreference: executor) { [pipeline] in await pipeline.run(exchange) }
    }

    /// Whether the answer may take more than a moment of computing, for which the connection's thread, where hits are answered, is no
    /// place: pages over all that is kept, filters and orders of lists, patches, and bodies that are longer than most.
    static func mayComputeLong(_ head: RequestHead) -> Bool {
        let target = head.target.utf8
        let isResource =
            target.starts(with: Route.resources.prefix.utf8) || target.starts(with: Route.files.prefix.utf8)
        return !isResource || head.method == .patch || (head.bodyLength ?? .max) > shortBody
            || head.fields.contains("Sync-Filter") || head.fields.contains("Sync-Sort")
    }

    private static var shortBody: Int64 { 64 << 10 }

    package func refusal(status: Int, reason: String) -> (contentType: String, body: [UInt8]) {
        let code: ProblemCode =
            switch status {
            case 408: .requestTimeout
            case 413: .tooLarge
            case 414: .lineTooLong
            case 417: .expectation
            case 431: .headTooLarge
            case 501: .transferCoding
            case 503: .busy
            case 505: .version
            case 500: .internalError
            default: .badRequest
            }
        return ("application/problem+json", Problem(code, reason, status: status).body(instance: nil))
    }
}
