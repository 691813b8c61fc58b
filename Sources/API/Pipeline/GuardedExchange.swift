import CacheCore
import Synchronization

/// A client's exchange that knows whether its answer has begun, so that an error that comes later breaks the connection off
/// instead of starting a second answer. Used from one task at a time, like what it wraps.
final class GuardedExchange: Exchange {
    private enum Stage: UInt8 { case open, begun, ended }

    private let inner: any Exchange
    private let stage = Atomic<UInt8>(Stage.open.rawValue)

    init(_ inner: any Exchange) { self.inner = inner }

    var head: RequestHead { inner.head }

    /// Whether a head was sent, or the connection broken off: nothing else can be answered.
    var hasBegun: Bool { stage.load(ordering: .acquiring) != Stage.open.rawValue }

    /// Moves on; false where that stage is not the next one.
    private func move(from old: Stage, to new: Stage) -> Bool {
        stage.compareExchange(expected: old.rawValue, desired: new.rawValue, ordering: .acquiringAndReleasing).exchanged
    }

    func readBody() async throws(ExchangeError) -> [UInt8]? { try await inner.readBody() }

    func inform(_ head: ResponseHead) {
        if !hasBegun { inner.inform(head) }
    }

    func respond(_ head: ResponseHead, body: [UInt8]) {
        if move(from: .open, to: .ended) { inner.respond(head, body: body) } else { abort() }
    }

    func begin(_ head: ResponseHead, length: Int64?) {
        if move(from: .open, to: .begun) { inner.begin(head, length: length) } else { abort() }
    }

    func write(_ piece: [UInt8]) async throws(ExchangeError) { try await inner.write(piece) }
    func write(_ part: FilePart) async throws { try await inner.write(part) }

    func onDeparture(_ call: @escaping @Sendable () -> Void) { inner.onDeparture(call) }

    func finish() {
        if move(from: .begun, to: .ended) { inner.finish() }
    }

    /// Harmless once the answer is whole.
    func abort() {
        let old = stage.exchange(Stage.ended.rawValue, ordering: .acquiringAndReleasing)
        if old != Stage.ended.rawValue { inner.abort() }
    }
}
