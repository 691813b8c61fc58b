/// How soon kept answers reach the disk, and whether the view shows them (design 11, strategy; seeds/semantics.md 4.2). It is about
/// copies alone: accepted writes, and what becomes of them, are on disk before anybody is answered, whatever the strategy.
package protocol WriteStrategy: Sendable {
    /// `isBackground`: a refresh or another work that no client waits for.
    func plan(isBackground: Bool) -> WritePlan
}

/// What a strategy says about one commit.
package struct WritePlan: Sendable, Hashable {
    package enum Timing: Sendable, Hashable {
        /// On disk, also after a power failure, before the answer is whole.
        case durable
        /// In the database before the answer is whole; on disk with the next durable commit.
        case written
        /// In memory, and in the database some seconds later.
        case behind
    }
    package var timing: Timing
    /// Whether prepared hits of the entries make way at once, or stay until they expire.
    package var updatesView: Bool

    package init(_ timing: Timing, updatesView: Bool = true) {
        self.timing = timing
        self.updatesView = updatesView
    }
}

/// Writers and view work on the disk directly, and the view follows.
struct DirectStrategy: WriteStrategy {
    func plan(isBackground: Bool) -> WritePlan { WritePlan(.durable) }
}

/// The same, but the view is its own: it shows what it has until that expires or is loaded anew.
struct DirectIndependentStrategy: WriteStrategy {
    func plan(isBackground: Bool) -> WritePlan { WritePlan(.durable, updatesView: false) }
}

/// All goes through the view, which is written behind.
struct IndirectNestedStrategy: WriteStrategy {
    func plan(isBackground: Bool) -> WritePlan { WritePlan(.behind) }
}

/// Work in the background is direct; what clients read, and could ask for again, is not waited for.
struct MixedStrategy: WriteStrategy {
    func plan(isBackground: Bool) -> WritePlan { WritePlan(isBackground ? .durable : .written) }
}

/// The strategies that a store can be asked for by name.
package enum StrategyName: String, Sendable, Hashable, CaseIterable {
    case direct, directIndependent, indirectNested, mixed

    package var strategy: any WriteStrategy {
        switch self {
        case .direct: DirectStrategy()
        case .directIndependent: DirectIndependentStrategy()
        case .indirectNested: IndirectNestedStrategy()
        case .mixed: MixedStrategy()
        }
    }
}
