package import HTTPModel

/// The head of a client's request as it arrived.
package struct RequestHead: Sendable {
    package var method: HTTPMethod
    /// The request target byte for byte (origin-form, or absolute-form where a client sent that).
    package var target: String
    package var fields: HTTPFields
    /// 0 for HTTP/1.0, 1 for HTTP/1.1.
    package var minorVersion: Int
    /// The length that Content-Length declares; nil for a chunked body, 0 where there is no body.
    package var bodyLength: Int64?
    /// Whether the client waits for `100 Continue` before it sends the body.
    package var expectsContinue: Bool
    /// Whether the request came over the management listener, a Unix socket included (`manageListen`, design 13).
    package var listener: ListenerID

    package init(
        method: HTTPMethod, target: String, fields: HTTPFields = HTTPFields(), minorVersion: Int = 1,
        bodyLength: Int64? = 0, expectsContinue: Bool = false, listener: ListenerID = ListenerID(rawValue: 0)
    ) {
        self.method = method
        self.target = target
        self.fields = fields
        self.minorVersion = minorVersion
        self.bodyLength = bodyLength
        self.expectsContinue = expectsContinue
        self.listener = listener
    }
}

/// Which of the configured listeners a connection came in by, in the order in which they were given.
package struct ListenerID: Sendable, Hashable, RawRepresentable {
    package let rawValue: Int
    package init(rawValue: Int) { self.rawValue = rawValue }
}

/// The head of an answer. The server adds framing (Content-Length or chunked, Connection) and, where it is missing, Date.
package struct ResponseHead: Sendable, Hashable {
    package var status: Int
    package var fields: HTTPFields

    package init(status: Int, fields: HTTPFields = HTTPFields()) {
        self.status = status
        self.fields = fields
    }
}

/// Why the client's side of an exchange ended early.
package enum ExchangeError: Error, Sendable, Hashable {
    /// The client went away, reset, or was closed by a deadline. A body that stalls is answered 408 by the server, unless an
    /// answer has begun.
    case disconnected
    /// The request body is malformed (bad chunk, short body). The server answers 400 and closes, unless an answer has begun.
    case malformedBody
    /// The body is longer than `maxBodySize`. An answer can still be sent; the connection closes after it.
    case bodyTooLarge
}

/// One request of one client and the means to answer it, exactly once.
///
/// Callable from any task or thread; the server moves the work to the loop thread that owns the connection. An exchange that
/// is released without an answer is answered 500 by the server, so that no client hangs.
package protocol Exchange: AnyObject, Sendable {
    var head: RequestHead { get }

    /// Where the task that answers runs best: on the thread that the connection belongs to, so that no hand-over between threads
    /// costs time. nil: anywhere.
    var executor: (any TaskExecutor)? { get }

    /// The next piece of the request body, nil at its end. Reading is what makes the server read on (back-pressure), and the
    /// first call sends `100 Continue` where the client waits for it. At most one call at a time.
    func readBody() async throws(ExchangeError) -> [UInt8]?

    /// Sends an interim answer (1xx, RFC 9110 15.2) ahead of the final one. Dropped where an answer has begun, and for clients of
    /// HTTP/1.0, who know none.
    func inform(_ head: ResponseHead)

    /// Answers with a whole body. The server sets Content-Length; a HEAD answer sends the head alone with that length unless
    /// the head has its own Content-Length.
    func respond(_ head: ResponseHead, body: [UInt8])

    /// Begins an answer whose body follows piece by piece; `length` nil means chunked (or close for HTTP/1.0).
    func begin(_ head: ResponseHead, length: Int64?)

    /// Sends a piece; suspends while the client reads more slowly than we write.
    func write(_ piece: [UInt8]) async throws(ExchangeError)

    /// The same of a part of a file. Throws `ExchangeError`, or what reading the file throws.
    func write(_ part: FilePart) async throws

    /// Ends a body begun with `begin`.
    func finish()

    /// Calls once when the client has closed its side or the connection is gone, at once where that has happened, never after the
    /// answer has ended. For answers that wait for something without reading or writing. Set at most once; must not block.
    func onDeparture(_ call: @escaping @Sendable () -> Void)

    /// Breaks the connection off, so that a client never takes a cut body for a whole one.
    func abort()
}

extension Exchange {
    package var executor: (any TaskExecutor)? { nil }

    package func write(_ part: FilePart) async throws { try await write(part.bytes) }

    /// For exchanges whose client takes no interim answers.
    package func inform(_ head: ResponseHead) {}
}

/// The request as it lies in the loop's read buffer: for the hot path, which must not build a String.
/// Valid only during the call that receives it; not Sendable, so that it can't leave the loop thread.
package struct RawRequest {
    /// A part of `bytes`.
    package struct Slice: Sendable {
        package var offset: UInt32
        package var length: UInt32
        package init(offset: UInt32, length: UInt32) {
            self.offset = offset
            self.length = length
        }
    }

    /// One field line.
    package struct FieldSlices: Sendable {
        package var name: Slice
        package var value: Slice
        package init(name: Slice, value: Slice) {
            self.name = name
            self.value = value
        }
    }

    /// All bytes of the head.
    package let bytes: UnsafeRawBufferPointer
    package let method: Slice
    package let target: Slice
    package let fields: UnsafeBufferPointer<FieldSlices>
    package let minorVersion: UInt8
    package let listener: ListenerID
    /// Seconds since 1970, from the loop's cached clock.
    package let now: Double

    package init(
        bytes: UnsafeRawBufferPointer, method: Slice, target: Slice, fields: UnsafeBufferPointer<FieldSlices>,
        minorVersion: UInt8, listener: ListenerID, now: Double
    ) {
        self.bytes = bytes
        self.method = method
        self.target = target
        self.fields = fields
        self.minorVersion = minorVersion
        self.listener = listener
        self.now = now
    }

    package subscript(slice: Slice) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: bytes[Int(slice.offset)..<Int(slice.offset + slice.length)])
    }
}

/// Where the hot path writes an answer: the loop's write buffer. Bytes appended leave in one write with those of other
/// pipelined answers. A `false` of `answerAtOnce` must leave it untouched.
package protocol ResponseSink: ~Copyable {
    mutating func append(_ bytes: UnsafeRawBufferPointer)
}

/// What the server calls for each request. Called on loop threads, several at once: must not block.
package protocol RequestHandler: Sendable {
    /// The hot path: answers a request without body from memory by appending a complete HTTP/1.1 answer (status line, fields,
    /// framing, body) to `sink`, or returns false. No locks across I/O, no allocation that is not needed.
    func answerAtOnce(_ request: borrowing RawRequest, into sink: inout some ResponseSink & ~Copyable) -> Bool

    /// Everything else: takes the exchange over and returns at once.
    func handle(_ exchange: any Exchange)

    /// The answer to a request that the server itself refuses (framing, limits, deadlines): a problem body for `status`, with
    /// its media type. `reason` is a short sentence that says what was wrong.
    func refusal(status: Int, reason: String) -> (contentType: String, body: [UInt8])
}
