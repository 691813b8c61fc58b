/// Something that listeners of /cache/events are told (design 9). `data` goes out as JSON. What is large and rare lies apart.
package enum Event: Sendable {
    case operation(Operation, from: OperationState?)
    case entry(EntryKey, state: String, deleted: Bool)
    indirect case conflict(Conflict)
    case network(from: String, to: String)
    /// A store was attached, started, stopped or detached.
    case store(name: String, state: String)
    /// A switch of the whole service was set; what it is now is read where it is set.
    case settings(ServiceSetting)
    /// An action has changed its state, or has come further.
    indirect case action(Action)
}

/// What is set for the whole service while it runs.
package enum ServiceSetting: String, Sendable, Hashable { case policies, mode, suspended }

/// Takes events; must not block. Callable from any thread.
package protocol EventSink: Sendable {
    func emit(_ event: Event)
}
