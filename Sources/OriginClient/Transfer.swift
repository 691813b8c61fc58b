import CCurl
import CacheCore
import HTTPModel

/// One transfer as the transfer thread sees it: what libcurl calls back, its deadlines, and how it ends. Confined to that
/// thread.
final class Transfer {
    /// A deadline that has passed.
    enum Overdue {
        case not(next: Double)
        case overdue(String)
    }

    let job: Job
    let handle: EasyHandle
    private let options: OriginOptions
    private unowned let loop: TransferLoop
    private let startedAt: Double
    private var reader: HeadReader
    private var head: AnswerHead?
    private var isHeadDelivered = false
    /// A connection was made and the request (or its start) may have been sent.
    private(set) var mayHaveBeenSent = false
    private var isUploading: Bool
    private var isReceivePaused = false
    private var isSendPaused = false
    private var lastProgress: Double
    /// Set where we end the transfer ourselves; goes before what libcurl says.
    private var failure: OriginError?
    /// Whether the loop will call `flush` at the end of its turn.
    var isTouched = false

    init(_ job: Job, handle: EasyHandle, options: OriginOptions, loop: TransferLoop) {
        self.job = job
        self.handle = handle
        self.options = options
        self.loop = loop
        startedAt = loop.now
        lastProgress = loop.now
        reader = HeadReader(isHeadRequest: job.method == .head)
        if case .upload = job.body { isUploading = job.method != .head } else { isUploading = false }
    }

    // MARK: called by libcurl

    /// False keeps the request from the wire: libcurl is about to send one again that must not be repeated.
    func beforeRequest() -> Bool {
        progress()
        if mayHaveBeenSent && !job.isRepeatable {
            failure = .noAnswer(reason: "the connection ended before an answer came")
            return false
        }
        mayHaveBeenSent = true
        return true
    }

    func receiveHeadLine(_ line: UnsafeRawBufferPointer) -> Int {
        progress()
        // After the final head: trailers.
        guard head == nil else { return line.count }
        switch unsafe reader.take(line) {
        case .more: break
        // 100 answers what this client may have asked for itself (RFC 9110 15.2).
        case .interim(let head): if head.status != 100 { job.interim?(head.status, head.fields) }
        case .complete(let head):
            self.head = head
            loop.touch(self)
        case .bad(let reason):
            failure = .badAnswer(reason: reason)
            return 0
        }
        return line.count
    }

    func receiveBody(_ bytes: UnsafeRawBufferPointer) -> Int {
        progress()
        guard unsafe !bytes.isEmpty else { return 0 }
        guard unsafe job.answer.offer(bytes) else {
            isReceivePaused = true
            return Int(CURL_WRITEFUNC_PAUSE)
        }
        loop.touch(self)
        return bytes.count
    }

    func sendBody(_ room: UnsafeMutableRawBufferPointer) -> Int {
        guard case .upload(let upload) = job.body else { return 0 }
        switch unsafe upload.take(into: room) {
        case .bytes(let count):
            progress()
            return count
        case .end:
            isUploading = false
            progress()
            return 0
        case .starved:
            isSendPaused = true
            return Int(CURL_READFUNC_PAUSE)
        case .failed:
            failure = .cancelled
            return Int(CURL_READFUNC_ABORT)
        }
    }

    // MARK: called by the loop

    /// Goes on after a pause: the reader has taken enough, or the source has given more.
    func resume(receive: Bool, send: Bool) -> CURLcode {
        guard receive && isReceivePaused || send && isSendPaused else { return CURLE_OK }
        if receive { isReceivePaused = false }
        if send { isSendPaused = false }
        progress()
        let mask = (isReceivePaused ? CURLPAUSE_RECV : 0) | (isSendPaused ? CURLPAUSE_SEND : 0)
        return unsafe curl_easy_pause(handle.curl, mask)
    }

    /// Hands on what the last turn brought: one wake-up of the reader for all of it.
    func flush() {
        isTouched = false
        if let head, !isHeadDelivered {
            isHeadDelivered = true
            job.answer.deliver(head)
        }
        job.answer.flush()
    }

    /// Whether a deadline has passed, and when to look again.
    func check(_ now: Double) -> Overdue {
        var next = Double.infinity
        if let total = options.totalTimeout {
            next = startedAt + total
            if now >= next { return .overdue("the whole transfer took longer than \(total) s") }
        }
        // Before there is a connection libcurl's own deadline holds; while paused, the client is the slow one.
        guard mayHaveBeenSent, !isReceivePaused, !isSendPaused else { return .not(next: next) }
        let isBody = head != nil || isUploading
        let limit = isBody ? options.idleTimeout : options.firstByteTimeout
        let due = lastProgress + limit
        if now >= due {
            return .overdue(isBody ? "no progress for \(limit) s" : "no answer within \(limit) s")
        }
        return .not(next: min(next, due))
    }

    /// Ends everything that belongs to the transfer, which libcurl no longer has.
    func end(_ code: CURLcode, because reason: OriginError? = nil) {
        if let reason { failure = reason }
        let outcome = outcome(code)
        if job.isProbe, case .success = outcome {
            // A bare connection has no head; who waits for it gets an empty one.
            head = AnswerHead(status: 0, fields: [:], isDelimited: true)
        }
        // Head and end together: who waits for the head sees that the body is whole.
        job.answer.finish(outcome, head: isHeadDelivered ? nil : head)
        isHeadDelivered = true
        if case .upload(let upload) = job.body { upload.close() }
    }

    /// Ends it by a deadline.
    func end(overdue reason: String) {
        end(
            CURLE_OPERATION_TIMEDOUT,
            because: mayHaveBeenSent ? .timeout(reason: reason) : .unreachable(reason: reason, isTLS: false))
    }

    private func outcome(_ code: CURLcode) -> Result<Void, OriginError> {
        if head != nil {
            switch failure {
            case nil where code == CURLE_OK: return .success(())
            case nil: return .failure(.cutBody(reason: handle.reason(code)))
            case .cancelled: return .failure(.cancelled)
            case .timeout(let reason), .noAnswer(let reason), .badAnswer(let reason), .cutBody(let reason),
                .unreachable(let reason, _):
                return .failure(.cutBody(reason: reason))
            }
        }
        if let failure { return .failure(failure) }
        if job.isProbe && code == CURLE_OK { return .success(()) }
        return .failure(
            CurlFailure(code, reason: handle.reason(code)).error(
                mayHaveBeenSent: mayHaveBeenSent, isRepeatable: job.isRepeatable))
    }

    private func progress() { lastProgress = loop.now }
}
