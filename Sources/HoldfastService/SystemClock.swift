import CacheCore
import Glibc

/// The machine's wall clock.
package struct SystemClock: Clock {
    package init() {}

    package var now: Double {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    /// Waits by the monotonic clock for the difference seen now: a wall clock that is set meanwhile neither hangs nor hurries
    /// what waits.
    package func sleep(until time: Double) async {
        let seconds = min(max(time - now, 0), 3600)
        try? await Task.sleep(for: .milliseconds(Int64((seconds * 1000).rounded(.up))), tolerance: .zero)
    }
}
