import CacheCore

/// Writes events that an operator wants to find in the log: operations that change state and conflicts. (Connectivity and stores log
/// their own.)
struct EventLog: EventSink {
    let log: any Log

    func emit(_ event: Event) {
        switch event {
        case .operation(let operation, let from):
            let level: LogLevel = operation.state == .failed ? .warning : .debug
            log.write(
                level, "operation",
                [
                    ("id", operation.id.text), ("from", from?.rawValue ?? ""), ("to", operation.state.rawValue),
                    ("reason", operation.reason ?? ""),
                ])
        case .conflict(let conflict):
            log.write(.info, "conflict", [("id", conflict.id), ("kind", conflict.kind.rawValue)])
        case .network, .entry, .store: break
        }
    }
}
