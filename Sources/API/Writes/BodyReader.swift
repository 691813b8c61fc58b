import CacheCore
import HTTPModel

/// Takes a write's body from the client as far as it has to be kept (design 7, 14.7).
struct BodyReader: Sendable {
    let context: ServiceContext
    let exchange: any Exchange
    let settings: Settings
    /// What is held in memory; more goes to the store.
    private static let memoryLimit = 64 << 10
    /// What is kept aside so that an online write can be told from a conflict and be repeated; more is streamed.
    private static let asideLimit: Int64 = 16 << 20

    init(_ context: ServiceContext, _ exchange: any Exchange, settings: Settings) {
        self.context = context
        self.exchange = exchange
        self.settings = settings
    }

    /// `mayStream`: a body that is too large to be kept aside may stay at the client. `isForbiddenToKeep`: nothing may reach the
    /// disk. Throws `too-large`, `bad-request` where a digest of the client's is wrong, and errors of exchange and store.
    func read(mayStream: Bool, isForbiddenToKeep: Bool = false) async throws -> SentBody {
        let length = exchange.head.bodyLength
        if length == 0 { return .none }
        if let length, length > settings.maxBodySize { throw tooLarge }
        if mayStream, let length, length > (isForbiddenToKeep ? Int64(Self.memoryLimit) : Self.asideLimit) {
            return .stream(ClientBody(exchange, readAhead: []))
        }
        var pieces: [[UInt8]] = []
        var count = 0
        while count <= Self.memoryLimit, let piece = try await next() {
            pieces.append(piece)
            count += piece.count
        }
        if count <= Self.memoryLimit {
            let bytes = Array(pieces.joined())
            try check(context.digest(bytes))
            return length == nil && bytes.isEmpty ? .none : .bytes(bytes)
        }
        if mayStream, isForbiddenToKeep || length == nil {
            return .stream(ClientBody(exchange, readAhead: pieces))
        }
        return .stored(try await spool(ClientBody(exchange, readAhead: pieces), length: length))
    }

    /// Keeps a body that was to be streamed and has not begun to.
    func keep(_ body: ClientBody) async throws -> Content { try await spool(body, length: body.length) }

    private func spool(_ body: ClientBody, length: Int64?) async throws -> Content {
        let writer = try await context.store.makeBody(for: .operation, length: length)
        let content: Content
        do {
            var count: Int64 = 0
            while let piece = try await body.next() {
                count += Int64(piece.count)
                if count > settings.maxBodySize { throw tooLarge }
                try await writer.append(piece)
            }
            content = try await writer.finish()
        } catch {
            writer.discard()
            throw (error as? ExchangeError) == .bodyTooLarge ? tooLarge : error
        }
        do {
            try check(content.digest)
        } catch {
            context.store.release(content)
            throw error
        }
        return content
    }

    private func next() async throws -> [UInt8]? {
        do {
            return try await exchange.readBody()
        } catch .bodyTooLarge {
            throw tooLarge
        }
    }

    /// Repr-Digest and Content-Digest (RFC 9530), sha-256; other algorithms are the origin's affair.
    private func check(_ digest: Digest) throws {
        for name in ["Repr-Digest", "Content-Digest"] {
            guard let value = exchange.head.fields.combined(name) else { continue }
            guard let dictionary = SFDictionary(parsing: value) else {
                throw Problem(.badRequest, "\(name) is no structured dictionary (RFC 9530).")
            }
            guard case .byteSequence(let bytes)? = dictionary["sha-256"]?.item?.value else { continue }
            guard bytes == digest.bytes else {
                throw Problem(.badRequest, "The body is not the one that \(name) describes. Send it again.")
            }
        }
    }

    private var tooLarge: Problem {
        Problem(.tooLarge, "A body has at most \(settings.maxBodySize) bytes (maxBodySize).")
    }
}
