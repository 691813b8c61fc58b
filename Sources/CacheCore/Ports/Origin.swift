package import HTTPModel

/// A request to the origin. `target` is appended to the origin's base byte for byte.
package struct OriginRequest: Sendable {
    package var method: HTTPMethod
    package var target: String
    /// End-to-end fields, without Host, Content-Length, Transfer-Encoding, Connection: the client makes those.
    package var fields: HTTPFields
    package var body: OriginRequestBody
    /// Called with status and end-to-end fields of each interim answer but 100, on a thread of the client's: must not block.
    package var interim: (@Sendable (Int, HTTPFields) -> Void)?

    package init(
        method: HTTPMethod, target: String, fields: HTTPFields = HTTPFields(), body: OriginRequestBody = .none,
        interim: (@Sendable (Int, HTTPFields) -> Void)? = nil
    ) {
        self.method = method
        self.target = target
        self.fields = fields
        self.body = body
        self.interim = interim
    }
}

/// What a request to the origin carries.
package enum OriginRequestBody: Sendable {
    case none
    case bytes([UInt8])
    /// Pulled piece by piece as the origin takes it; `length` nil means chunked. A throw of `next` ends the transfer.
    case stream(length: Int64?, source: any BodySource)
}

/// Bytes that arrive piece by piece. One reader, one call at a time; pulling is what makes the other side send on.
package protocol BodySource: AnyObject, Sendable {
    /// The next piece (never empty), nil at the proven end. Throws where the body is cut short.
    func next() async throws -> [UInt8]?
    /// The reader gives up: the transfer is ended and its resources are freed. Harmless after the end.
    func cancel()
}

/// A body that lies in a file: its parts can be sent without their bytes passing through memory.
package protocol FileSource: BodySource {
    /// In place of `next`: the next part, ready to be sent without waiting for the disk.
    func nextPart() async throws -> FilePart?
}

/// A part of an open file, never empty.
package struct FilePart: Sendable {
    package let descriptor: Int32
    package let offset: Int64
    package let length: Int
    /// Keeps the file open.
    private let file: any AnyObject & Sendable
    private let read: @Sendable () async throws -> [UInt8]

    /// `read`: its bytes, for who can't send from a file.
    package init(
        descriptor: Int32, offset: Int64, length: Int, of file: any AnyObject & Sendable,
        read: @escaping @Sendable () async throws -> [UInt8]
    ) {
        self.descriptor = descriptor
        self.offset = offset
        self.length = length
        self.file = file
        self.read = read
    }

    package var bytes: [UInt8] { get async throws { try await read() } }
}

/// The final answer's head and its body.
package struct OriginResponse: Sendable {
    package var status: Int
    package var fields: HTTPFields
    package var body: any BodySource
    /// How the end of the body is proven: false where only the closing of the connection ends it.
    package var isDelimited: Bool
    /// The body, where all of it is here already: then `body` need not be read. Short ones come so.
    package var whole: [UInt8]?

    package init(
        status: Int, fields: HTTPFields, body: any BodySource, isDelimited: Bool = true, whole: [UInt8]? = nil
    ) {
        self.status = status
        self.fields = fields
        self.body = body
        self.isDelimited = isDelimited
        self.whole = whole
    }
}

/// Why there is no answer. What matters for writes is whether the request may have reached the origin.
package enum OriginError: Error, Sendable, Hashable {
    /// No connection could be made (DNS, refused, unreachable, TLS, connect timeout): nothing was sent.
    case unreachable(reason: String, isTLS: Bool)
    /// A connection was made and the request was or may have been sent; no complete head came back.
    case noAnswer(reason: String)
    /// As `noAnswer`, by the deadline for the first byte or the total.
    case timeout(reason: String)
    /// What came back is not HTTP that can be used.
    case badAnswer(reason: String)
    /// The answer's body ended early (short length, cut chunks, reset).
    case cutBody(reason: String)
    /// The one who asked gave up.
    case cancelled
}

/// The REST service behind Holdfast. Callable from any task.
package protocol Origin: Sendable {
    /// The base URL, for resolving Location and the like; never ends in `/`.
    var base: String { get }

    /// Sends once and returns when the head of the final answer is there. Never follows redirects. A request other than GET,
    /// HEAD and OPTIONS is put on the wire at most once.
    func send(_ request: OriginRequest) async throws(OriginError) -> OriginResponse

    /// Makes a connection (TLS included) and closes it: the default probe of design 8.
    func probeConnection() async throws(OriginError)
}
