package import CacheCore
import HTTPModel
import Synchronization

/// The origin over libcurl: HTTP/1.1, and HTTP/2 where TLS offers it, with pooled connections, on a thread of its own.
///
/// Callable from any task. Bodies stream both ways and are bounded: a slow reader pauses the transfer, a slow source pauses
/// the upload. A request other than GET, HEAD and OPTIONS goes on the wire at most once, whatever becomes of its connection.
/// A task that is cancelled while it waits ends its transfer.
package final class CurlOrigin: Origin {
    package var base: String { options.base.text }
    private let options: OriginOptions
    private let thread: TransferThread
    private let lastID = Atomic<Int>(0)

    /// Starts the thread, or throws where the system has none; nothing is sent before it is asked for.
    package init(_ options: OriginOptions) throws(OriginStartError) {
        self.options = options
        thread = try TransferThread(options)
    }

    package func send(_ request: OriginRequest) async throws(OriginError) -> OriginResponse {
        let job: Job
        do {
            job = try Job(request, id: nextID(), prefix: options.base.prefix)
        } catch {
            if case .stream(_, let source) = request.body { source.cancel() }
            throw error
        }
        let head = try await run(job)
        let body = AnswerBody(job.answer, id: job.id, thread: thread)
        return OriginResponse(
            status: head.status, fields: head.fields, body: body, isDelimited: head.isDelimited,
            whole: job.answer.whole)
    }

    package func probeConnection() async throws(OriginError) {
        let job = Job(probe: nextID())
        _ = try await run(job)
    }

    /// Fails what runs (`noAnswer` where a request may have been sent, else `cancelled`) and ends the thread. Every later
    /// call fails with `cancelled`. Blocks for a moment; call it once nobody needs an answer.
    package func shutdown() { thread.stop() }

    private func nextID() -> Int { lastID.add(1, ordering: .relaxed).newValue }

    private func run(_ job: Job) async throws(OriginError) -> AnswerHead {
        let mailbox = thread.mailbox
        let id = job.id
        guard mailbox.post(.start(job)) else {
            if case .upload(let upload) = job.body { upload.close() }
            throw .cancelled
        }
        if case .upload(let upload) = job.body, upload.needsPump {
            Task { await upload.pump { mailbox.post(.uploaded(id)) } }
        }
        let result = await withTaskCancellationHandler {
            await job.answer.head()
        } onCancel: {
            mailbox.post(.cancel(id))
        }
        return try result.get()
    }
}

/// The body of an answer, read from its transfer.
private final class AnswerBody: BodySource {
    private let answer: AnswerChannel
    private let id: Int
    /// Keeps the thread alive for as long as a body is read.
    private let thread: TransferThread

    init(_ answer: AnswerChannel, id: Int, thread: TransferThread) {
        self.answer = answer
        self.id = id
        self.thread = thread
    }

    /// A body that nobody reads any more must not hold a connection.
    deinit { cancel() }

    func next() async throws -> [UInt8]? {
        let (mailbox, id) = (thread.mailbox, id)
        return try await withTaskCancellationHandler {
            try await answer.next { mailbox.post(.received(id)) }
        } onCancel: {
            mailbox.post(.cancel(id))
        }
    }

    func cancel() {
        if !answer.isOver { thread.mailbox.post(.cancel(id)) }
    }
}
