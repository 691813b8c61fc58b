import Glibc

/// The signals that the service listens to (design 10), as a sequence.
///
/// Blocked in the calling thread and so in every thread made after; one thread waits for them. To be made first of all.
struct Signals {
    let stream: AsyncStream<Int32>

    init() {
        let (stream, continuation) = AsyncStream.makeStream(of: Int32.self)
        self.stream = stream
        var set = Self.set
        pthread_sigmask(SIG_BLOCK, &set, nil)
        signal(SIGPIPE, SIG_IGN)
        var thread = pthread_t()
        let context = Unmanaged.passRetained(Box(continuation)).toOpaque()
        pthread_create(&thread, nil, waitForSignals, context)
        pthread_detach(thread)
    }

    fileprivate static var set: sigset_t {
        var set = sigset_t()
        sigemptyset(&set)
        for number in [SIGTERM, SIGINT, SIGHUP, SIGUSR1] { sigaddset(&set, number) }
        return set
    }

    fileprivate final class Box {
        let continuation: AsyncStream<Int32>.Continuation
        init(_ continuation: AsyncStream<Int32>.Continuation) { self.continuation = continuation }
    }
}

private func waitForSignals(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    let box = Unmanaged<Signals.Box>.fromOpaque(context!).takeRetainedValue()
    var set = Signals.set
    while true {
        var number: Int32 = 0
        if sigwait(&set, &number) == 0 { box.continuation.yield(number) }
    }
}
