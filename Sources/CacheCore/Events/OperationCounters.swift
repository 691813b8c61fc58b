import Synchronization

/// Counts the changes of operations' states since the start, for /metrics. Safe from any thread.
package final class OperationCounters: EventSink {
    /// A change from one state to another; from nil at acceptance.
    package struct Change: Sendable {
        package var from: OperationState?
        package var to: OperationState
        package var count: Int64
    }

    private static let states = OperationState.allCases
    /// By the new state and, within it, the old one, which has one place more for none.
    private let counts = Mutex([Int64](repeating: 0, count: states.count * (states.count + 1)))

    package init() {}

    package func emit(_ event: Event) {
        guard case .operation(let operation, let from) = event else { return }
        let index = Self.index(from, operation.state)
        counts.withLock { $0[index] += 1 }
    }

    /// Those that have happened, in a fixed order.
    package var changes: [Change] {
        let counts = counts.withLock { $0 }
        return Self.states.flatMap { to in
            ([nil] + Self.states.map { Optional($0) }).compactMap { from in
                let count = counts[Self.index(from, to)]
                return count == 0 ? nil : Change(from: from, to: to, count: count)
            }
        }
    }

    private static func index(_ from: OperationState?, _ to: OperationState) -> Int {
        states.firstIndex(of: to)! * (states.count + 1) + (from.map { states.firstIndex(of: $0)! + 1 } ?? 0)
    }
}

/// Tells several.
package struct EventFanOut: EventSink {
    private let sinks: [any EventSink]

    package init(_ sinks: [any EventSink]) { self.sinks = sinks }

    package func emit(_ event: Event) {
        for sink in sinks { sink.emit(event) }
    }
}
