import CacheCore
import HTTPModel
import Synchronization
import Testing

@Suite struct ListenerTests {
    /// A closure that is converted at each access becomes a chain of wrappers, which ends in an overflow of the stack.
    @Test func `A million accepted credentials leave the call to the listener as short as the first`() {
        let keeper = CredentialKeeper()
        let calls = Atomic(0)
        keeper.onArrival { _ in calls.add(1, ordering: .relaxed) }
        for number in 0..<1_000_000 {
            keeper.accepted(["Authorization": "Bearer \(number % 2)"], for: PartitionID(high: 1, low: 2))
        }
        #expect(calls.load(ordering: .relaxed) == 1_000_000)
    }
}
