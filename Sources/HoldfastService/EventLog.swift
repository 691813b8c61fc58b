import CacheCore

/// Writes events that an operator wants to find in the log: operations that change state and conflicts. (Connectivity and stores log
/// their own.)
struct EventLog: EventSink {
    let log: any Log

    func emit(_ event: Event) {
        switch event {
        case .operation(let operation, let from):
            let level: LogLevel = operation.state == .failed ? .warning : .debug
            guard log.keeps(level) else { return }
            log.write(
                level, "operation",
                [
                    ("id", operation.id.text), ("from", from?.rawValue ?? ""), ("to", operation.state.rawValue),
                    ("reason", operation.reason ?? ""),
                ])
        case .conflict(let conflict):
            log.write(
                .info, "conflict",
                [
                    ("id", conflict.id), ("kind", conflict.kind.rawValue),
                    ("state", conflict.closedAt == nil ? "open" : "closed"),
                ])
        case .action(let action) where action.state == .finished:
            log.write(
                action.completion == .failed ? .warning : .info, "action",
                [
                    ("id", action.id), ("type", action.request.type.rawValue),
                    ("completion", action.completion.rawValue), ("problem", action.problem?.code.slug ?? ""),
                ])
        case .network, .entry, .store, .settings, .action: break
        }
    }
}
