import Glibc
import Synchronization

/// Hands jobs to threads that belong to it. Adding costs a system call only where a thread sleeps.
final class JobQueue<Job: Sendable>: Sendable {
    private struct State {
        var jobs: [Job] = []
        var sleepers = 0
        var isClosed = false
    }
    private let state = Mutex(State())
    /// A pipe as a semaphore: each wake-up is one byte, read once.
    private let readEnd: Int32
    private let writeEnd: Int32

    init() {
        var ends: [Int32] = [0, 0]
        precondition(unsafe pipe(&ends) == 0, "no pipe")
        readEnd = ends[0]
        writeEnd = ends[1]
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    }

    deinit {
        Glibc.close(readEnd)
        Glibc.close(writeEnd)
    }

    /// False where the queue is closed: the job will never run.
    func add(_ job: Job) -> Bool {
        let outcome = state.withLock { state in
            if state.isClosed { return (isAdded: false, wakes: false) }
            state.jobs.append(job)
            guard state.sleepers > 0 else { return (true, false) }
            state.sleepers -= 1
            return (true, true)
        }
        if outcome.wakes { wake() }
        return outcome.isAdded
    }

    /// Takes all jobs, in order; waits for the first. nil once the queue is closed and empty.
    func takeAll() -> [Job]? {
        take { jobs in
            defer { jobs = [] }
            return jobs
        }
    }

    /// Takes the oldest job; waits for it. nil once the queue is closed and empty.
    func takeFirst() -> Job? { take { $0.removeFirst() } }

    /// No more jobs; those that wait are still done.
    func close() {
        let sleepers = state.withLock { state in
            state.isClosed = true
            defer { state.sleepers = 0 }
            return state.sleepers
        }
        for _ in 0..<sleepers { wake() }
    }

    private func take<Taken: Sendable>(_ body: (inout [Job]) -> Taken) -> Taken? {
        while true {
            let outcome: (taken: Taken?, sleeps: Bool) = state.withLock { state in
                if !state.jobs.isEmpty { return (body(&state.jobs), false) }
                if state.isClosed { return (nil, false) }
                state.sleepers += 1
                return (nil, true)
            }
            guard outcome.sleeps else { return outcome.taken }
            var value: UInt8 = 0
            while unsafe read(readEnd, &value, 1) < 0, errno == EINTR {}
        }
    }

    private func wake() {
        var one: UInt8 = 1
        _ = unsafe write(writeEnd, &one, 1)
    }
}
