import CacheCore
import Synchronization

/// Entries for several stores: one transaction in each, after all have come.
final class RoutedIntake: EntryIntake {
    private let router: StoreRouter
    private let intakes = Mutex<[Int: any EntryIntake]>([:])

    init(_ router: StoreRouter) { self.router = router }

    func add(_ entry: Entry) async throws(StoreError) {
        guard let seat = router.seat(of: entry.key.target) else { throw .detached }
        try await intake(of: seat).add(router.adapted(entry, to: seat.store))
    }

    private func intake(of seat: StoreRouter.Seat) async throws(StoreError) -> any EntryIntake {
        if let known = intakes.withLock({ $0[seat.index] }) { return known }
        let intake = try await seat.store.intake()
        intakes.withLock { $0[seat.index] = intake }
        return intake
    }

    func commit() async throws(StoreError) {
        var isHalf: StoreError?
        for (_, intake) in intakes.withLock({ $0 }).sorted(by: { $0.key < $1.key }) {
            do throws(StoreError) { try await intake.commit() } catch {
                guard case .mirrorFailed = error else { throw error }
                isHalf = isHalf ?? error
            }
        }
        if let isHalf { throw isHalf }
    }

    func discard() async {
        for intake in intakes.withLock({ Array($0.values) }) { await intake.discard() }
    }
}
