package import CacheCore
import Synchronization

/// Counts of what was answered, for /metrics and /cache. Safe from any thread; each count only rises.
package final class Counters: Sendable {
    /// What is counted.
    package enum Name: Int, Sendable, CaseIterable {
        /// Requests that reached a handler or the hot path.
        case requests
        /// Reads answered from the store or the view without asking the origin first, stale ones included.
        case hits
        /// Reads for which the origin was asked.
        case misses
        /// Hits that were stale (`detail=STALE` or `OFFLINE`).
        case stale
        /// Reads that shared another request's answer.
        case collapsed
        /// 304 answers of the origin that renewed a copy.
        case revalidated
        /// Refreshes begun in the background.
        case refreshes
        /// Answers that were problems of our own.
        case problems
    }

    private let requests = Atomic<Int>(0)
    private let hits = Atomic<Int>(0)
    private let misses = Atomic<Int>(0)
    private let stale = Atomic<Int>(0)
    private let collapsed = Atomic<Int>(0)
    private let revalidated = Atomic<Int>(0)
    private let refreshes = Atomic<Int>(0)
    private let problems = Atomic<Int>(0)

    private let view: any HitView

    /// `view` counts by entry.
    package init(view: any HitView) { self.view = view }

    /// A read of the entry was answered from the store.
    func hit(_ key: EntryKey) {
        count(.hits)
        view.note(EntryUses(hits: 1), of: key)
    }

    /// The origin was asked for a read of the entry.
    func miss(_ key: EntryKey) {
        count(.misses)
        view.note(EntryUses(misses: 1), of: key)
    }

    func uses(of key: EntryKey) -> EntryUses { view.uses(of: key) }

    package func count(_ name: Name, _ amount: Int = 1) {
        switch name {
        case .requests: requests.wrappingAdd(amount, ordering: .relaxed)
        case .hits: hits.wrappingAdd(amount, ordering: .relaxed)
        case .misses: misses.wrappingAdd(amount, ordering: .relaxed)
        case .stale: stale.wrappingAdd(amount, ordering: .relaxed)
        case .collapsed: collapsed.wrappingAdd(amount, ordering: .relaxed)
        case .revalidated: revalidated.wrappingAdd(amount, ordering: .relaxed)
        case .refreshes: refreshes.wrappingAdd(amount, ordering: .relaxed)
        case .problems: problems.wrappingAdd(amount, ordering: .relaxed)
        }
    }

    package subscript(name: Name) -> Int {
        switch name {
        case .requests: requests.load(ordering: .relaxed)
        case .hits: hits.load(ordering: .relaxed)
        case .misses: misses.load(ordering: .relaxed)
        case .stale: stale.load(ordering: .relaxed)
        case .collapsed: collapsed.load(ordering: .relaxed)
        case .revalidated: revalidated.load(ordering: .relaxed)
        case .refreshes: refreshes.load(ordering: .relaxed)
        case .problems: problems.load(ordering: .relaxed)
        }
    }
}
