import CProcess
import CacheCore

/// Memory that was freed and that the allocator keeps. Bodies pass through memory in pieces, between small things that stay; by itself
/// the allocator gives back only what lies at the end of its areas, so that hours of traffic would leave it with many times
/// of what is in use.
package enum SpareMemory {
    /// Bytes in memory beyond what is in use that may stay: the program itself, and what saves the next bodies a system call.
    package static let limit = 40 << 20
    /// Seconds between two looks.
    private static let interval = 10.0

    /// Looks from time to time, until the task is cancelled.
    static func keepReturning(_ clock: any Clock) -> Task<Void, Never> {
        Task(priority: .background) {
            while !Task.isCancelled {
                await clock.sleep(until: clock.now + interval)
                giveBack()
            }
        }
    }

    /// What is in memory beyond what is in use, in bytes.
    package static var bytes: Int { Int(clamping: hl_spare_memory()) }

    /// Gives it back to the system where it is more than the limit.
    package static func giveBack() {
        if bytes > limit { hl_return_memory() }
    }

    /// Lets go of the code that the start has used and that may not be used again: the set-up of libraries, migrations, recovery.
    package static func giveBackCode() { hl_return_code() }
}
