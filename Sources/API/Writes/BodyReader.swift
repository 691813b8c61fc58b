import CacheCore
import HTTPModel

/// Takes a write's body from the client as far as it has to be kept (design 7, 14.7).
struct BodyReader: Sendable {
    let context: ServiceContext
    let exchange: any Exchange
    /// In bytes (`maxBodySize`).
    let longest: Int64
    /// What an upload brought: the body of a write that names it.
    let uploaded: Content?
    /// What the body is for.
    let target: Target
    /// What is held in memory; more goes to the store.
    private static let memoryLimit = 64 << 10
    /// What is kept aside so that an online write can be told from a conflict and be repeated; more is streamed.
    private static let asideLimit: Int64 = 16 << 20

    init(
        _ context: ServiceContext, _ exchange: any Exchange, longest: Int64, target: Target, uploaded: Content? = nil
    ) {
        self.context = context
        self.exchange = exchange
        self.target = target
        self.longest = longest
        self.uploaded = uploaded
    }

    /// `mayStream`: a body that is too large to be kept aside may stay at the client. `isForbiddenToKeep`: nothing may reach the
    /// disk. Throws `too-large`, `bad-request` where a digest of the client's is wrong, and errors of exchange and store.
    func read(mayStream: Bool, isForbiddenToKeep: Bool = false) async throws -> SentBody {
        if let uploaded {
            let content = try await checked(uploaded)
            // A short body belongs to the row that refers to it, in whichever store that is.
            guard content.length <= Self.memoryLimit else { return .stored(content) }
            return .bytes(try await context.store.bytes(of: content, limit: content.length))
        }
        let check = try DigestCheck(exchange.head.fields, context.hash)
        let length = exchange.head.bodyLength
        if length == 0 {
            try check?.verify()
            return .none
        }
        if let length, length > longest { throw tooLarge }
        if mayStream, let length, length > (isForbiddenToKeep ? Int64(Self.memoryLimit) : Self.asideLimit) {
            return .stream(ClientBody(exchange, readAhead: [], check: check))
        }
        // Who waits for 100 (Continue) is told before it is sent that there is no room for it.
        if let length, length > Self.memoryLimit {
            return .stored(try await spool(ClientBody(exchange, readAhead: [], check: check), length: length))
        }
        var pieces: [[UInt8]] = []
        var count = 0
        while count <= Self.memoryLimit, let piece = try await next() {
            pieces.append(piece)
            count += piece.count
        }
        if count <= Self.memoryLimit {
            let bytes = pieces.count == 1 ? pieces[0] : Array(pieces.joined())
            check?.update(bytes)
            try check?.verify()
            return length == nil && bytes.isEmpty ? .none : .bytes(bytes)
        }
        if mayStream, isForbiddenToKeep || length == nil {
            return .stream(ClientBody(exchange, readAhead: pieces, check: check))
        }
        return .stored(try await spool(ClientBody(exchange, readAhead: pieces, check: check), length: length))
    }

    /// Keeps a body that was to be streamed and has not begun to.
    func keep(_ body: ClientBody) async throws -> Content { try await spool(body, length: body.length) }

    private func spool(_ body: ClientBody, length: Int64?) async throws -> Content {
        let writer = try await context.store.makeBody(for: .operation, at: target, length: length)
        do {
            var count: Int64 = 0
            while let piece = try await body.next() {
                count += Int64(piece.count)
                if count > longest { throw tooLarge }
                try await writer.append(piece)
            }
            return try await writer.finish()
        } catch {
            writer.discard()
            throw (error as? ExchangeError) == .bodyTooLarge ? tooLarge : error
        }
    }

    /// The upload, which Repr-Digest describes; Content-Digest is of the request's own, empty content.
    private func checked(_ content: Content) async throws -> Content {
        let fields = exchange.head.fields
        try DigestCheck(fields, fields: ["Content-Digest"], context.hash)?.verify()
        guard let check = try DigestCheck(fields, fields: ["Repr-Digest"], context.hash) else { return content }
        let source = try await context.store.read(content, range: nil)
        while let piece = try await source.next() { check.update(piece) }
        try check.verify()
        return content
    }

    private func next() async throws -> [UInt8]? {
        do {
            return try await exchange.readBody()
        } catch .bodyTooLarge {
            throw tooLarge
        }
    }

    private var tooLarge: Problem {
        Problem(.tooLarge, "A body has at most \(longest) bytes (maxBodySize).")
    }
}
