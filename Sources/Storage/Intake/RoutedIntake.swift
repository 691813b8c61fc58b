import CacheCore
import Synchronization

/// Entries for several stores: one transaction in each, after all have come.
final class RoutedIntake: EntryIntake {
    private let router: StoreRouter
    private let intakes = Mutex<[Int: (seat: StoreRouter.Seat, intake: any EntryIntake)]>([:])

    init(_ router: StoreRouter) { self.router = router }

    func add(_ entry: Entry) async throws(StoreError) {
        guard let seat = router.seat(of: entry.key.target) else { throw .detached }
        try await intake(of: seat).add(router.adapted(entry, to: seat.store))
    }

    private func intake(of seat: StoreRouter.Seat) async throws(StoreError) -> any EntryIntake {
        if let known = intakes.withLock({ $0[seat.index] }) { return known.intake }
        let intake = try await seat.store.intake()
        intakes.withLock { $0[seat.index] = (seat, intake) }
        return intake
    }

    func commit() async throws(StoreError) {
        var failures = StoreFailures()
        for (seat, intake) in intakes.withLock({ $0.values.sorted { $0.seat.index < $1.seat.index } }) {
            do throws(StoreError) { try await intake.commit() } catch {
                failures.add(error, of: seat)
                if !error.isAccepted { break }
            }
        }
        try failures.end()
    }

    func discard() async {
        for (_, intake) in intakes.withLock({ Array($0.values) }) { await intake.discard() }
    }
}
