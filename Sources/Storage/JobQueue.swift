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
    private let wakeUps = Semaphore()

    /// False where the queue is closed: the job will never run.
    func add(_ job: Job) -> Bool {
        let outcome = state.withLock { state in
            if state.isClosed { return (isAdded: false, wakes: false) }
            state.jobs.append(job)
            guard state.sleepers > 0 else { return (true, false) }
            state.sleepers -= 1
            return (true, true)
        }
        if outcome.wakes { wakeUps.post() }
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
        for _ in 0..<sleepers { wakeUps.post() }
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
            wakeUps.wait()
        }
    }
}

/// Takes no descriptor: a store can be opened, or refused, where none is free.
@safe private final class Semaphore: Sendable {
    /// Unchecked: set once; the functions that take it may be called from any thread.
    nonisolated(unsafe) private let semaphore: UnsafeMutablePointer<sem_t>

    init() {
        unsafe semaphore = .allocate(capacity: 1)
        unsafe sem_init(semaphore, 0, 0)
    }

    deinit {
        unsafe sem_destroy(semaphore)
        unsafe semaphore.deallocate()
    }

    func post() { unsafe sem_post(semaphore) }

    func wait() {
        while unsafe sem_wait(semaphore) < 0, errno == EINTR {}
    }
}
