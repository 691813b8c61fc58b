import CEventHTTP
import CacheCore
import HTTPModel
import Synchronization

/// What an exchange asks of its loop's thread.
enum ExchangeStep: Sendable {
    case readBody(CheckedContinuation<Result<[UInt8]?, ExchangeError>, Never>)
    /// Bytes of an answer; the continuation goes on when the client has taken enough.
    case write([UInt8], CheckedContinuation<Result<Void, ExchangeError>, Never>?)
    /// A part of a file; the continuation goes on when the client has taken it.
    case writePart(FilePart, CheckedContinuation<Result<Void, ExchangeError>, Never>)
    /// The last bytes of an answer, and its end.
    case finish([UInt8], keepAlive: Bool)
    /// Calls when the client has left.
    case watch(@Sendable () -> Void)
    case abort
}

/// The loop's side of an exchange. The connection holds one reference from attachment until it is finished, aborted or closed.
///
/// Unchecked: `connection`, `reader`, `writer` and what tells of the client's leaving are touched on the loop's thread only; `answer` has its lock.
@safe final class ExchangeCore: @unchecked Sendable {
    /// How far the answer is.
    struct Answer {
        var hasBegun = false
        var isOver = false
        var isChunked = false
        /// Bytes of the declared length that are still to come; nil where none was declared.
        var left: Int64?
        var sendsBody = true
        var keepAlive: Bool
        /// Bytes on their way to the loop's thread.
        var posted = 0
        /// Bytes that waited for the client when the loop's thread last looked.
        var waiting = 0
        /// Whether nothing can be sent any more.
        var isGone = false
    }

    /// What is known of the request's body without asking the loop's thread.
    private struct Body {
        /// All of it, where it came with the head and was not read yet.
        var whole: [UInt8]?
        /// Bytes that are still to be read; nil of a chunked one.
        var left: Int64?
    }

    let head: RequestHead
    let loop: LoopBase
    let answer: Mutex<Answer>
    private let body: Mutex<Body>
    private var connection: OpaquePointer?
    private var reader: CheckedContinuation<Result<[UInt8]?, ExchangeError>, Never>?
    private var writer: CheckedContinuation<Result<Void, ExchangeError>, Never>?
    /// What the connection is sending.
    private var part: FilePart?
    private var departure: (@Sendable () -> Void)?
    private var hasLeft = false
    /// Set on the loop's thread; nothing more comes after.
    private var bodyEnd: Result<[UInt8]?, ExchangeError>?

    /// Bytes that may wait for the client before a writer is suspended.
    private static let highWater = 256 << 10

    /// `body`: all of it, where it is here already.
    init(connection: OpaquePointer, loop: LoopBase, head: RequestHead, body: [UInt8]?, keepAlive: Bool) {
        unsafe self.connection = connection
        self.loop = loop
        self.head = head
        self.answer = Mutex(Answer(keepAlive: keepAlive))
        self.body = Mutex(Body(whole: body, left: head.bodyLength))
    }

    func post(_ step: ExchangeStep) { loop.post(.exchange(self, step)) }

    // MARK: on the loop's thread

    func perform(_ step: ExchangeStep) {
        switch step {
        case .readBody(let continuation):
            guard let connection = unsafe connection else {
                return continuation.resume(returning: .failure(.disconnected))
            }
            if let bodyEnd { return continuation.resume(returning: bodyEnd) }
            reader = continuation
            unsafe hl_connection_read_body(connection)
        case .write(let bytes, let continuation):
            guard let connection = unsafe connection else {
                continuation?.resume(returning: .failure(.disconnected))
                return
            }
            let waiting = unsafe bytes.withUnsafeBytes {
                unsafe hl_connection_write(connection, $0.baseAddress, $0.count)
            }
            answer.withLock { answer in
                answer.posted -= bytes.count
                answer.waiting = waiting
            }
            guard let continuation else { return }
            if unsafe self.connection == nil {
                continuation.resume(returning: .failure(.disconnected))
            } else if waiting <= Self.highWater {
                continuation.resume(returning: .success(()))
            } else {
                writer = continuation
                unsafe hl_connection_notify_drained(connection)
            }
        case .watch(let call):
            departure = call
            if unsafe connection == nil || hasLeft { clientLeft() }
        case .writePart(let part, let continuation):
            guard let connection = unsafe connection else {
                return continuation.resume(returning: .failure(.disconnected))
            }
            self.part = part
            writer = continuation
            unsafe hl_connection_send_file(connection, part.descriptor, part.offset, Int64(part.length))
        case .finish(let bytes, let keepAlive):
            if let connection = unsafe connection, !bytes.isEmpty {
                _ = unsafe bytes.withUnsafeBytes { unsafe hl_connection_write(connection, $0.baseAddress, $0.count) }
            }
            guard let connection = unsafe connection else { return }
            departure = nil
            detach()
            unsafe hl_connection_finish(connection, keepAlive ? 1 : 0)
        case .abort:
            guard let connection = unsafe connection else { return }
            departure = nil
            detach()
            unsafe hl_connection_abort(connection)
        }
    }

    func bodyArrived(_ bytes: UnsafeRawBufferPointer, how: Int) {
        let result: Result<[UInt8]?, ExchangeError>
        var refusal: (status: Int32, reason: String)?
        switch how {
        case HL_BODY_MORE: result = unsafe .success(Array(bytes))
        case HL_BODY_END: result = .success(nil)
        case HL_BODY_TOO_LARGE: result = .failure(.bodyTooLarge)
        case HL_BODY_SLOW:
            result = .failure(.disconnected)
            refusal = (408, "the body of the request took too long")
        default:
            result = .failure(.malformedBody)
            refusal = (400, "the body of the request is malformed")
        }
        if how != HL_BODY_MORE {
            bodyEnd = result
            if how != HL_BODY_END { answer.withLock { $0.keepAlive = false } }
        }
        // Before the reader goes on: it may abort at once, which would take the answer from the server.
        let refuses = refusal != nil && takesAnswer()
        reader.take()?.resume(returning: result)
        if refuses, let refusal, let connection = unsafe connection {
            detach()
            unsafe hl_connection_refuse(connection, refusal.status, refusal.reason)
        }
    }

    /// Whether the answer had not begun; it is the server's then.
    private func takesAnswer() -> Bool {
        answer.withLock { answer in
            guard !answer.hasBegun else { return false }
            answer.hasBegun = true
            answer.isOver = true
            return true
        }
    }

    /// The next piece of the body, or nil at its end, where the loop's thread need not be asked; `.some` then.
    func bodyAtOnce() -> [UInt8]?? {
        body.withLock { body in
            if let whole = body.whole.take() {
                body.left = 0
                return .some(whole)
            }
            return body.left == 0 ? .some(nil) : nil
        }
    }

    /// A piece of the body was read.
    func noteRead(_ count: Int) { body.withLock { body in body.left = body.left.map { $0 - Int64(count) } } }

    /// Hands bytes to the loop's thread; false where so many are on their way that the writer has to wait for its turn.
    func postAtOnce(_ bytes: [UInt8]) throws(ExchangeError) -> Bool {
        let isTaken = answer.withLock { answer -> Bool? in
            if answer.isGone { return nil }
            let mayGo = answer.posted + answer.waiting + bytes.count <= Self.highWater
            answer.posted += bytes.count
            return mayGo
        }
        guard let isTaken else { throw .disconnected }
        if isTaken { post(.write(bytes, nil)) }
        return isTaken
    }

    func drained() {
        part = nil
        writer.take()?.resume(returning: .success(()))
    }

    /// The client has closed its side: it sends no more, and may still read.
    func clientLeft() {
        hasLeft = true
        departure.take()?()
    }

    func connectionClosed() {
        clientLeft()
        detach()
    }

    /// Releases the connection's reference: `self` may end with it.
    private func detach() {
        unsafe connection = nil
        part = nil
        answer.withLock { $0.isGone = true }
        reader.take()?.resume(returning: .failure(.disconnected))
        writer.take()?.resume(returning: .failure(.disconnected))
        unsafe Unmanaged.passUnretained(self).release()
    }
}
