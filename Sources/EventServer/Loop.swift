import CEventHTTP
import CacheCore
import Glibc
import HTTPModel
import Synchronization

/// Work for a loop's thread.
enum LoopJob: Sendable {
    case exchange(ExchangeCore, ExchangeStep)
    /// A part of a task that prefers this thread.
    case task(UnownedJob)
    /// Tells how many connections have an exchange or unsent bytes.
    case count(CheckedContinuation<Int, Never>)
    /// Indirect, for a job is to stay small.
    indirect case limits(ServerLimits)
    case drain
    case stop
}

/// What the C callbacks call: the part of a loop that is not generic. Tasks that prefer it run on its thread.
///
/// Unchecked: `taken` and `nextTaken` are the thread's own; `handle` is written before the thread starts; the connections behind it are touched on that thread only, and
/// `hl_loop_wake` is safe from any.
@safe class LoopBase: @unchecked Sendable {
    fileprivate(set) var handle: OpaquePointer?
    private let jobs = Mutex<(waiting: [LoopJob], hasEnded: Bool)>(([], false))
    private let thread = Mutex<pthread_t?>(nil)
    /// The thread while it runs, 0 else.
    private let running = Atomic<UInt>(0)
    /// Jobs that were taken from `jobs`, and the next of them to do.
    private var taken: [LoopJob] = []
    private var nextTaken = 0
    /// So many jobs are done before the sockets are looked at again: hits must not wait long.
    private static let jobsAtOnce = 8
    private let finish = Mutex<(isDone: Bool, waiters: [CheckedContinuation<Void, Never>])>((false, []))

    fileprivate init() {}

    fileprivate func requested(
        _ connection: OpaquePointer, _ request: UnsafePointer<hl_request>, listener: Int32, now: Double
    ) -> Int32 {
        preconditionFailure("the generic loop answers")
    }

    fileprivate func refuse(_ status: Int, _ reason: String) { preconditionFailure("the generic loop answers") }

    /// Connections with an exchange or with unsent bytes; 0 after the end.
    func busy() async -> Int { await withCheckedContinuation { post(.count($0)) } }

    /// Hands a job to the loop's thread. Only the first of a batch wakes it. After the end the caller performs it: no connection
    /// is left then, so that it can only fail.
    func post(_ job: LoopJob) {
        let (isFirst, hasEnded) = jobs.withLock { jobs in
            if !jobs.hasEnded { jobs.waiting.append(job) }
            return (jobs.waiting.count == 1, jobs.hasEnded)
        }
        if hasEnded {
            performElsewhere(job)
        } else if isFirst {
            if running.load(ordering: .relaxed) == pthread_self() {
                unsafe hl_loop_come_again(handle, 0)
            } else {
                unsafe hl_loop_wake(handle)
            }
        }
    }

    fileprivate func runJobs() {
        for _ in 0..<Self.jobsAtOnce {
            guard let job = takeJob() else { return }
            perform(job)
        }
        unsafe hl_loop_come_again(handle, 1)
    }

    private func takeJob() -> LoopJob? {
        if nextTaken == taken.count {
            taken.removeAll(keepingCapacity: true)
            nextTaken = 0
            jobs.withLock { swap(&$0.waiting, &taken) }
            if taken.isEmpty { return nil }
        }
        nextTaken += 1
        return taken[nextTaken - 1]
    }

    /// The thread is gone: a task goes on in the pool, and the rest can only fail.
    private func performElsewhere(_ job: LoopJob) {
        if case .task(let task) = job {
            Task.detached { [self] in unsafe task.runSynchronously(on: asUnownedTaskExecutor()) }
        } else {
            perform(job)
        }
    }

    private func perform(_ job: LoopJob) {
        switch job {
        case .task(let task): unsafe task.runSynchronously(on: asUnownedTaskExecutor())
        case .exchange(let exchange, let step): exchange.perform(step)
        case .count(let continuation): unsafe continuation.resume(returning: Int(hl_loop_busy(handle)))
        case .limits(let limits):
            var c = limits.c
            unsafe hl_loop_set_limits(handle, &c)
        case .drain: unsafe hl_loop_drain(handle)
        case .stop: unsafe hl_loop_stop(handle)
        }
    }

    /// Before `start`. Throws where the loop can't watch the descriptor.
    func listen(on descriptor: Int32, number: Int) throws(ServerError) {
        let error = unsafe hl_loop_add_listener(handle, descriptor, Int32(number))
        guard error == 0 else {
            throw ServerError(unsafe "an event loop can't listen: \(String(cString: strerror(error)))")
        }
    }

    /// Starts the thread, which keeps the loop alive until it ends. Once.
    func start() throws(ServerError) {
        var started = pthread_t()
        let context = unsafe Unmanaged.passRetained(self)
        let error = unsafe pthread_create(&started, nil, runLoopThread, context.toOpaque())
        guard error == 0 else {
            unsafe context.release()
            throw ServerError(unsafe "no thread can be made: \(String(cString: strerror(error)))")
        }
        let made = started
        thread.withLock { $0 = made }
    }

    /// Waits, blocking, for the thread's end, which is near.
    func join() {
        let ending = thread.withLock { $0.take() }
        if let ending { pthread_join(ending, nil) }
    }

    fileprivate func run() {
        running.store(UInt(pthread_self()), ordering: .relaxed)
        unsafe hl_loop_run(handle)
        running.store(0, ordering: .relaxed)
        jobs.withLock { $0.hasEnded = true }
        while let job = takeJob() { perform(job) }
        let waiters = finish.withLock { state in
            state.isDone = true
            let all = state.waiters
            state.waiters = []
            return all
        }
        waiters.forEach { $0.resume() }
    }

    /// Returns when the thread has left the loop.
    func ended() async {
        await withCheckedContinuation { continuation in
            let isDone = finish.withLock { state in
                if !state.isDone { state.waiters.append(continuation) }
                return state.isDone
            }
            if isDone { continuation.resume() }
        }
    }

    deinit { if let handle = unsafe handle { unsafe hl_loop_free(handle) } }
}

extension LoopBase: TaskExecutor {
    func enqueue(_ job: consuming ExecutorJob) { post(.task(UnownedJob(job))) }
}

private func runLoopThread(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    unsafe Unmanaged<LoopBase>.fromOpaque(context!).takeRetainedValue().run()
    return nil
}

private func loop(_ context: UnsafeMutableRawPointer?) -> LoopBase {
    unsafe Unmanaged<LoopBase>.fromOpaque(context!).takeUnretainedValue()
}

private func core(_ exchange: UnsafeMutableRawPointer?) -> ExchangeCore {
    unsafe Unmanaged<ExchangeCore>.fromOpaque(exchange!).takeUnretainedValue()
}

/// One event loop, its thread and the handler that it calls.
final class Loop<Handler: RequestHandler>: LoopBase, @unchecked Sendable {
    private let handler: Handler
    /// Keeps the cell alive that the C side counts in.
    private let counter: ConnectionCounter

    init?(handler: Handler, limits: ServerLimits, counter: ConnectionCounter) {
        self.handler = handler
        self.counter = counter
        super.init()
        var callbacks = unsafe hl_callbacks(
            request: { unsafe loop($0).requested($1!, $2!, listener: $3, now: $4) },
            body: { unsafe core($0).bodyArrived(UnsafeRawBufferPointer(start: $1, count: $2), how: Int($3)) },
            drained: { unsafe core($0).drained() },
            left: { unsafe core($0).clientLeft() },
            closed: { unsafe core($0).connectionClosed() },
            woken: { unsafe loop($0).runJobs() },
            refuse: { unsafe loop($0).refuse(Int($1), String(cString: $2!)) })
        var c = limits.c
        let context = unsafe Unmanaged.passUnretained(self as LoopBase).toOpaque()
        guard let made = unsafe hl_loop_new(&callbacks, context, &c, counter.cell) else { return nil }
        unsafe handle = made
    }

    fileprivate override func requested(
        _ connection: OpaquePointer, _ request: UnsafePointer<hl_request>, listener: Int32, now: Double
    ) -> Int32 {
        let r = unsafe request
        let isPlain =
            unsafe r.pointee.content_length == 0 && r.pointee.chunked == 0 && r.pointee.keep_alive == 1
            && r.pointee.minor_version == 1
        let base = unsafe UnsafeRawBufferPointer(start: r.pointee.base, count: Int(r.pointee.head_length))
        if isPlain {
            var sink = unsafe LoopSink(loop: handle!)
            let answered = unsafe withFields(r) { fields in
                unsafe handler.answerAtOnce(
                    RawRequest(
                        bytes: base, method: slice(r.pointee.method), target: slice(r.pointee.target), fields: fields,
                        minorVersion: r.pointee.minor_version, listener: ListenerID(rawValue: Int(listener)), now: now),
                    into: &sink)
            }
            if answered { return Int32(HL_ANSWERED) }
        }
        func text(_ part: hl_slice) -> String {
            unsafe String(fieldBytes: base[Int(part.offset)..<Int(part.offset + part.length)])
        }
        var fields = HTTPFields()
        unsafe withFields(r) { slices in
            // A few are added on the way.
            fields.reserveCapacity(slices.count + 4)
            for number in slices.indices {
                let field = unsafe slices[number]
                fields.append(
                    text(hl_slice(offset: field.name.offset, length: field.name.length)),
                    text(hl_slice(offset: field.value.offset, length: field.value.length)))
            }
        }
        let head = unsafe RequestHead(
            method: HTTPMethod(rawValue: text(r.pointee.method)), target: text(r.pointee.target), fields: fields,
            minorVersion: Int(r.pointee.minor_version),
            bodyLength: r.pointee.chunked != 0 ? nil : r.pointee.content_length,
            expectsContinue: r.pointee.expects_continue != 0, listener: ListenerID(rawValue: Int(listener)))
        let body =
            unsafe r.pointee.body_is_here == 0
            ? nil
            : Array(UnsafeRawBufferPointer(start: base.baseAddress! + base.count, count: Int(head.bodyLength ?? 0)))
        let core = unsafe ExchangeCore(
            connection: connection, loop: self, head: head, body: body, keepAlive: r.pointee.keep_alive != 0)
        unsafe hl_connection_attach(connection, Unmanaged.passRetained(core).toOpaque())
        handler.handle(ServerExchange(core))
        return Int32(body == nil ? HL_TAKEN : HL_TAKEN_WITH_BODY)
    }

    fileprivate override func refuse(_ status: Int, _ reason: String) {
        let (type, body) = handler.refusal(status: status, reason: reason)
        let head = ResponseHead(status: status, fields: ["Content-Type": type])
        var bytes = HeadWriter.bytes(of: head, framing: .length(Int64(body.count)), connection: .close)
        bytes += body
        unsafe bytes.withUnsafeBytes { unsafe hl_loop_append(handle, $0.baseAddress, $0.count) }
    }

    private func slice(_ part: hl_slice) -> RawRequest.Slice { .init(offset: part.offset, length: part.length) }

    /// The fields of a request under our own type, whose layout is the same: four 32-bit numbers.
    private func withFields<Result>(
        _ request: UnsafePointer<hl_request>, _ body: (UnsafeBufferPointer<RawRequest.FieldSlices>) -> Result
    ) -> Result {
        let start = unsafe UnsafeRawPointer(request) + MemoryLayout<hl_request>.offset(of: \.fields)!
        let count = unsafe Int(request.pointee.field_count)
        return unsafe start.withMemoryRebound(to: RawRequest.FieldSlices.self, capacity: max(count, 1)) {
            unsafe body(UnsafeBufferPointer(start: $0, count: count))
        }
    }
}

/// Appends to the loop's output. Lives within a callback of the loop.
@safe struct LoopSink: ResponseSink, ~Copyable {
    let loop: OpaquePointer

    mutating func append(_ bytes: UnsafeRawBufferPointer) {
        unsafe hl_loop_append(loop, bytes.baseAddress, bytes.count)
    }
}
