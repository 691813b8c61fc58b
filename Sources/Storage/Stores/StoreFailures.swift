import CacheCore

/// What stores failed with at their parts of one change, so that all of it is told.
struct StoreFailures {
    private var all: [StoreFailure] = []

    mutating func add(_ error: StoreError, of seat: StoreRouter.Seat) {
        all.append(StoreFailure(store: seat.name, error: error))
    }

    /// Throws what there is: first what was not kept, for that says how the whole is answered.
    func end() throws(StoreError) {
        guard let first = all.first else { return }
        guard all.count > 1 else { throw first.error }
        throw .several(all.filter { !$0.error.isAccepted } + all.filter(\.error.isAccepted))
    }
}
