import CacheCore
import HTTPModel

/// What a management handler answers: a head and a body that is here or in the store.
struct ManagementReply: Sendable {
    enum Body: Sendable {
        case bytes([UInt8])
        case stored(Content)
        /// What the closure writes, of a length that nobody knows before; it may go on until the client has left.
        case stream(@Sendable (any Exchange) async throws -> Void)
    }

    var status: Int
    var fields: HTTPFields
    var body: Body

    init(status: Int, fields: HTTPFields, body: Body) {
        self.status = status
        self.fields = fields
        self.body = body
        self.fields["X-Content-Type-Options"] = "nosniff"
        if !self.fields.contains("Cache-Control") { self.fields["Cache-Control"] = "no-store" }
    }

    static func json(_ value: JSONValue, status: Int = 200, fields: HTTPFields = HTTPFields()) -> ManagementReply {
        var fields = fields
        fields["Content-Type"] = "application/json"
        return ManagementReply(status: status, fields: fields, body: .bytes(value.bytes))
    }

    static func text(_ text: String, type: String) -> ManagementReply {
        ManagementReply(status: 200, fields: ["Content-Type": type], body: .bytes(Array(text.utf8)))
    }

    /// A kept body; browsers are told not to run it.
    static func stored(_ content: Content?, type: String?) -> ManagementReply {
        var fields: HTTPFields = ["Content-Type": type ?? "application/octet-stream"]
        ResourceAnswer.harden(&fields)
        return ManagementReply(status: 200, fields: fields, body: .stored(content ?? .empty))
    }

    static let noContent = ManagementReply(status: 204, fields: HTTPFields(), body: .bytes([]))

    /// Sends it; throws before it has begun, or an `ExchangeError`.
    func send(to exchange: any Exchange, from store: any Store) async throws {
        let head = ResponseHead(status: status, fields: fields)
        switch body {
        case .bytes(let bytes): exchange.respond(head, body: bytes)
        case .stream(let write):
            exchange.begin(head, length: nil)
            do {
                if exchange.head.method != .head { try await write(exchange) }
                exchange.finish()
            } catch {
                exchange.abort()
            }
        case .stored(let content):
            if let inline = content.inline {
                exchange.respond(head, body: inline)
                return
            }
            let source = try await store.read(content, range: nil)
            exchange.begin(head, length: content.length)
            guard exchange.head.method != .head else {
                source.cancel()
                exchange.finish()
                return
            }
            do {
                while let piece = try await source.next() { try await exchange.write(piece) }
                exchange.finish()
            } catch {
                source.cancel()
                exchange.abort()
            }
        }
    }
}
