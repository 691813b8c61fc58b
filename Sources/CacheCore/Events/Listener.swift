import Synchronization

/// One call that is set late, by the composition, and made from any thread.
///
/// The closure is a field of a structure: kept as the mutex's own value it would be converted to the generic form and back at
/// each access, one wrapper more every time, and calls would grow slower for ever.
package final class Listener<Value: Sendable>: Sendable {
    private struct Held: Sendable {
        var call: (@Sendable (Value) -> Void)?
    }

    private let held = Mutex(Held())

    package init() {}

    package func set(_ call: @escaping @Sendable (Value) -> Void) { held.withLock { $0.call = call } }

    /// Calls, outside the lock; does nothing before one is set.
    package func tell(_ value: Value) { held.withLock { $0 }.call?(value) }
}
