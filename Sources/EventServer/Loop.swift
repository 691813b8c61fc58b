import CEventHTTP
import CacheCore
import Glibc
import HTTPModel
import Synchronization

/// Work for a loop's thread.
enum LoopJob: Sendable {
    case exchange(ExchangeCore, ExchangeStep)
    /// Tells how many connections have an exchange or unsent bytes.
    case count(CheckedContinuation<Int, Never>)
    case drain
    case stop
}

/// What the C callbacks call: the part of a loop that is not generic.
///
/// Unchecked: `handle` is written before the thread starts; the connections behind it are touched on that thread only, and
/// `hl_loop_wake` is safe from any.
class LoopBase: @unchecked Sendable {
    fileprivate(set) var handle: OpaquePointer?
    private let jobs = Mutex<(waiting: [LoopJob], hasEnded: Bool)>(([], false))
    private let thread = Mutex<pthread_t?>(nil)
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
            perform(job)
        } else if isFirst {
            hl_loop_wake(handle)
        }
    }

    fileprivate func runJobs() { takeJobs(atEnd: false).forEach(perform) }

    private func takeJobs(atEnd: Bool) -> [LoopJob] {
        jobs.withLock { jobs in
            let all = jobs.waiting
            jobs.waiting.removeAll(keepingCapacity: !atEnd)
            if atEnd { jobs.hasEnded = true }
            return all
        }
    }

    private func perform(_ job: LoopJob) {
        switch job {
        case .exchange(let exchange, let step): exchange.perform(step)
        case .count(let continuation): continuation.resume(returning: Int(hl_loop_busy(handle)))
        case .drain: hl_loop_drain(handle)
        case .stop: hl_loop_stop(handle)
        }
    }

    /// Before `start`. Throws where the loop can't watch the descriptor.
    func listen(on descriptor: Int32, number: Int) throws(ServerError) {
        let error = hl_loop_add_listener(handle, descriptor, Int32(number))
        guard error == 0 else { throw ServerError("an event loop can't listen: \(String(cString: strerror(error)))") }
    }

    /// Starts the thread, which keeps the loop alive until it ends. Once.
    func start() throws(ServerError) {
        var started = pthread_t()
        let context = Unmanaged.passRetained(self)
        let error = pthread_create(&started, nil, runLoopThread, context.toOpaque())
        guard error == 0 else {
            context.release()
            throw ServerError("no thread can be made: \(String(cString: strerror(error)))")
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
        hl_loop_run(handle)
        takeJobs(atEnd: true).forEach(perform)
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

    deinit { if let handle { hl_loop_free(handle) } }
}

private func runLoopThread(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    Unmanaged<LoopBase>.fromOpaque(context!).takeRetainedValue().run()
    return nil
}

private func loop(_ context: UnsafeMutableRawPointer?) -> LoopBase {
    Unmanaged<LoopBase>.fromOpaque(context!).takeUnretainedValue()
}

private func core(_ exchange: UnsafeMutableRawPointer?) -> ExchangeCore {
    Unmanaged<ExchangeCore>.fromOpaque(exchange!).takeUnretainedValue()
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
        var callbacks = hl_callbacks(
            request: { loop($0).requested($1!, $2!, listener: $3, now: $4) },
            body: { core($0).bodyArrived(UnsafeRawBufferPointer(start: $1, count: $2), how: Int($3)) },
            drained: { core($0).drained() },
            closed: { core($0).connectionClosed() },
            woken: { loop($0).runJobs() },
            refuse: { loop($0).refuse(Int($1), String(cString: $2!)) })
        var c = limits.c
        let context = Unmanaged.passUnretained(self as LoopBase).toOpaque()
        guard let made = hl_loop_new(&callbacks, context, &c, counter.cell) else { return nil }
        handle = made
    }

    fileprivate override func requested(
        _ connection: OpaquePointer, _ request: UnsafePointer<hl_request>, listener: Int32, now: Double
    ) -> Int32 {
        let r = request
        let isPlain =
            r.pointee.content_length == 0 && r.pointee.chunked == 0 && r.pointee.keep_alive == 1
            && r.pointee.minor_version == 1
        let base = UnsafeRawBufferPointer(start: r.pointee.base, count: Int(r.pointee.head_length))
        if isPlain {
            var sink = LoopSink(loop: handle!)
            let answered = withFields(r) { fields in
                handler.answerAtOnce(
                    RawRequest(
                        bytes: base, method: slice(r.pointee.method), target: slice(r.pointee.target), fields: fields,
                        minorVersion: r.pointee.minor_version, listener: ListenerID(rawValue: Int(listener)), now: now),
                    into: &sink)
            }
            if answered { return Int32(HL_ANSWERED) }
        }
        func text(_ part: hl_slice) -> String {
            String(fieldBytes: base[Int(part.offset)..<Int(part.offset + part.length)])
        }
        var fields = HTTPFields()
        withFields(r) { slices in
            for field in slices {
                fields.append(
                    text(hl_slice(offset: field.name.offset, length: field.name.length)),
                    text(hl_slice(offset: field.value.offset, length: field.value.length)))
            }
        }
        let head = RequestHead(
            method: HTTPMethod(rawValue: text(r.pointee.method)), target: text(r.pointee.target), fields: fields,
            minorVersion: Int(r.pointee.minor_version),
            bodyLength: r.pointee.chunked != 0 ? nil : r.pointee.content_length,
            expectsContinue: r.pointee.expects_continue != 0, listener: ListenerID(rawValue: Int(listener)))
        let core = ExchangeCore(connection: connection, loop: self, head: head, keepAlive: r.pointee.keep_alive != 0)
        hl_connection_attach(connection, Unmanaged.passRetained(core).toOpaque())
        handler.handle(ServerExchange(core))
        return Int32(HL_TAKEN)
    }

    fileprivate override func refuse(_ status: Int, _ reason: String) {
        let (type, body) = handler.refusal(status: status, reason: reason)
        let head = ResponseHead(status: status, fields: ["Content-Type": type])
        var bytes = HeadWriter.bytes(of: head, framing: .length(Int64(body.count)), connection: .close)
        bytes += body
        bytes.withUnsafeBytes { hl_loop_append(handle, $0.baseAddress, $0.count) }
    }

    private func slice(_ part: hl_slice) -> RawRequest.Slice { .init(offset: part.offset, length: part.length) }

    /// The fields of a request under our own type, whose layout is the same: four 32-bit numbers.
    private func withFields<Result>(
        _ request: UnsafePointer<hl_request>, _ body: (UnsafeBufferPointer<RawRequest.FieldSlices>) -> Result
    ) -> Result {
        let start = UnsafeRawPointer(request) + MemoryLayout<hl_request>.offset(of: \.fields)!
        let count = Int(request.pointee.field_count)
        return start.withMemoryRebound(to: RawRequest.FieldSlices.self, capacity: max(count, 1)) {
            body(UnsafeBufferPointer(start: $0, count: count))
        }
    }
}

/// Appends to the loop's output.
struct LoopSink: ResponseSink, ~Copyable {
    let loop: OpaquePointer

    mutating func append(_ bytes: UnsafeRawBufferPointer) { hl_loop_append(loop, bytes.baseAddress, bytes.count) }
}
