import Glibc

/// The signals that the service listens to (design 10), as a sequence.
///
/// To be made on the main thread before any other thread exists: they are blocked in the calling thread, and so in every
/// thread made after. One thread that did not block them would get them all, and they would end the process.
struct Signals: Sendable {
    let stream: AsyncStream<Int32>
    private let continuation: AsyncStream<Int32>.Continuation

    init() {
        (stream, continuation) = AsyncStream.makeStream(of: Int32.self)
        var set = Self.set
        pthread_sigmask(SIG_BLOCK, &set, nil)
        signal(SIGPIPE, SIG_IGN)
    }

    /// Hands signals on for as long as the process lives. Blocks the calling thread.
    func wait() -> Never {
        var set = Self.set
        while true {
            var number: Int32 = 0
            if sigwait(&set, &number) == 0 { continuation.yield(number) }
        }
    }

    private static var set: sigset_t {
        var set = sigset_t()
        sigemptyset(&set)
        for number in [SIGTERM, SIGINT, SIGHUP, SIGUSR1] { sigaddset(&set, number) }
        return set
    }
}
