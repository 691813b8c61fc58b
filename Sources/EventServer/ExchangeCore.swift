import CEventHTTP
import CacheCore
import HTTPModel
import Synchronization

/// What an exchange asks of its loop's thread.
enum ExchangeStep: Sendable {
    case readBody(CheckedContinuation<Result<[UInt8]?, ExchangeError>, Never>)
    /// Bytes of an answer; the continuation goes on when the client has taken enough.
    case write([UInt8], CheckedContinuation<Result<Void, ExchangeError>, Never>?)
    case finish(keepAlive: Bool)
    case abort
}

/// The loop's side of an exchange. The connection holds one reference from attachment until it is finished, aborted or closed.
///
/// Unchecked: `connection`, `reader` and `writer` are touched on the loop's thread only; `answer` has its lock.
final class ExchangeCore: @unchecked Sendable {
    /// How far the answer is.
    struct Answer {
        var hasBegun = false
        var isOver = false
        var isChunked = false
        /// Bytes of the declared length that are still to come; nil where none was declared.
        var left: Int64?
        var sendsBody = true
        var keepAlive: Bool
    }

    let head: RequestHead
    let loop: LoopBase
    let answer: Mutex<Answer>
    private var connection: OpaquePointer?
    private var reader: CheckedContinuation<Result<[UInt8]?, ExchangeError>, Never>?
    private var writer: CheckedContinuation<Result<Void, ExchangeError>, Never>?
    /// Set on the loop's thread; nothing more comes after.
    private var bodyEnd: Result<[UInt8]?, ExchangeError>?

    /// Bytes that may wait for the client before a writer is suspended.
    private static let highWater = 256 << 10

    init(connection: OpaquePointer, loop: LoopBase, head: RequestHead, keepAlive: Bool) {
        self.connection = connection
        self.loop = loop
        self.head = head
        self.answer = Mutex(Answer(keepAlive: keepAlive))
    }

    func post(_ step: ExchangeStep) { loop.post(.exchange(self, step)) }

    // MARK: on the loop's thread

    func perform(_ step: ExchangeStep) {
        switch step {
        case .readBody(let continuation):
            guard let connection else { return continuation.resume(returning: .failure(.disconnected)) }
            if let bodyEnd { return continuation.resume(returning: bodyEnd) }
            reader = continuation
            hl_connection_read_body(connection)
        case .write(let bytes, let continuation):
            guard let connection else {
                continuation?.resume(returning: .failure(.disconnected))
                return
            }
            let waiting = bytes.withUnsafeBytes { hl_connection_write(connection, $0.baseAddress, $0.count) }
            guard let continuation else { return }
            if self.connection == nil {
                continuation.resume(returning: .failure(.disconnected))
            } else if waiting <= Self.highWater {
                continuation.resume(returning: .success(()))
            } else {
                writer = continuation
                hl_connection_notify_drained(connection)
            }
        case .finish(let keepAlive):
            guard let connection else { return }
            detach()
            hl_connection_finish(connection, keepAlive ? 1 : 0)
        case .abort:
            guard let connection else { return }
            detach()
            hl_connection_abort(connection)
        }
    }

    func bodyArrived(_ bytes: UnsafeRawBufferPointer, how: Int) {
        let result: Result<[UInt8]?, ExchangeError>
        var refusal: (status: Int32, reason: String)?
        switch how {
        case HL_BODY_MORE: result = .success(Array(bytes))
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
        if refuses, let refusal, let connection {
            detach()
            hl_connection_refuse(connection, refusal.status, refusal.reason)
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

    func drained() { writer.take()?.resume(returning: .success(())) }

    func connectionClosed() { detach() }

    /// Releases the connection's reference: `self` may end with it.
    private func detach() {
        connection = nil
        reader.take()?.resume(returning: .failure(.disconnected))
        writer.take()?.resume(returning: .failure(.disconnected))
        Unmanaged.passUnretained(self).release()
    }
}

private let HL_BODY_MORE = 0
private let HL_BODY_END = 1
private let HL_BODY_TOO_LARGE = 3
private let HL_BODY_SLOW = 4
