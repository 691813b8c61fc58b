import CacheCore
import HTTPModel

/// /health, /metrics, /problems and /openapi.yaml.
extension ManagementService {
    func openPages(_ path: [String]) -> Methods? {
        switch path {
        case ["health", "live"]: [(.get, { _ in .json(.object(["status": "live"])) })]
        case ["health", "ready"]: [(.get, ready)]
        case ["metrics"]: [(.get, metrics)]
        case ["openapi.yaml"]: [(.get, { _ in .text(PageFile.named("openapi.yaml") ?? "", type: "application/yaml") })]
        default: problemMethods(path)
        }
    }

    private func problemMethods(_ path: [String]) -> Methods? {
        guard path.count == 2, path[0] == "problems" else { return nil }
        return [(.get, { _ in try page(of: path[1]) })]
    }

    /// Ready while requests can be answered, whether or not the origin can be reached. Degraded: they are, but the store can't write,
    /// a side of a mirrored one is left out, or a body on disk was found damaged.
    @Sendable private func ready(_ call: ManagementCall) async throws -> ManagementReply {
        let isReady = isReady()
        let usage = await context.store.usage()
        let store =
            if usage.isFailing {
                "not-writable"
            } else if usage.sidesOut > 0 {
                "one-sided"
            } else {
                usage.damagedBodies > 0 ? "damaged" : "ok"
            }
        let status = !isReady ? "not-ready" : store == "ok" ? "ready" : "degraded"
        return .json(
            .object([
                "status": .string(status), "store": .string(store),
                "network": .string(context.network.state.rawValue),
            ]), status: isReady ? 200 : 503)
    }

    private func page(of slug: String) throws -> ManagementReply {
        guard let code = ProblemCode.allCases.first(where: { $0.slug == slug }) else {
            throw ManagementCall.notFound("problem")
        }
        let (status, title) = code.meaning
        let (cause, remedy) = code.explanation
        return .text(
            """
            <!doctype html>
            <html lang="en"><meta charset="utf-8"><title>\(title)</title>
            <h1>\(title)</h1>
            <p>Code <code>\(slug)</code>, usually with status \(status).</p>
            <p>\(cause)</p>
            <p>\(remedy)</p></html>

            """, type: "text/html; charset=utf-8")
    }

    /// Prometheus text format 0.0.4.
    @Sendable private func metrics(_ call: ManagementCall) async throws -> ManagementReply {
        var text = ""
        func add(_ name: String, _ type: String, _ help: String, _ samples: [(label: String, value: Int64)]) {
            text += "# HELP holdfast_\(name) \(help)\n# TYPE holdfast_\(name) \(type)\n"
            for sample in samples { text += "holdfast_\(name)\(sample.label) \(sample.value)\n" }
        }
        for name in Counters.Name.allCases {
            add("\(name)_total", "counter", "Count of \(name) since start.", [("", Int64(counters[name]))])
        }
        let counts = context.queue.counts
        add(
            "operations", "gauge", "Unfinished operations by state.",
            [
                ("{state=\"pending\"}", Int64(counts.pending)), ("{state=\"sending\"}", Int64(counts.sending)),
                ("{state=\"unknown\"}", Int64(counts.unknown)), ("{state=\"failed\"}", Int64(counts.failed)),
                ("{state=\"conflict\"}", Int64(counts.conflict)),
            ])
        add(
            "operation_changes_total", "counter", "Changes of states since start; from none at acceptance.",
            operationCounters.changes.map {
                ("{from=\"\($0.from?.rawValue ?? "")\",to=\"\($0.to.rawValue)\"}", $0.count)
            })
        add("event_listeners", "gauge", "Open streams of /cache/events.", [("", Int64(events.listenerCount))])
        add("conflicts", "gauge", "Open conflicts.", [("", Int64(counts.openConflicts))])
        let usage = await context.store.usage()
        add(
            "store_bytes", "gauge", "Bytes kept.",
            [("{kind=\"copies\"}", usage.copies), ("{kind=\"operations\"}", usage.operations)])
        add("store_limit_bytes", "gauge", "What the store may keep.", [("", usage.limit)])
        add("view_bytes", "gauge", "Bytes of prepared answers in memory.", [("", usage.viewBytes)])
        add("damaged_bodies", "gauge", "Bodies set aside as damaged.", [("", Int64(usage.damagedBodies))])
        add("sides_out", "gauge", "Sides of mirrored stores that are left out.", [("", Int64(usage.sidesOut))])
        add("side_failures_total", "counter", "Failures of sides of mirrored stores.", [("", usage.sideFailures)])
        add("entries", "gauge", "Entries kept.", [("", usage.entries)])
        add("online", "gauge", "1 while the origin is reachable.", [("", context.network.state.isOnline ? 1 : 0)])
        add("suspended", "gauge", "1 while delivery is suspended.", [("", context.delivery.isSuspended ? 1 : 0)])
        return .text(text, type: "text/plain; version=0.0.4; charset=utf-8")
    }
}
