import CacheCore
import HTTPModel

/// One request, prepared for the transfer thread: everything that can be made beforehand is.
struct Job: Sendable {
    enum Body: Sendable {
        /// No body and no Content-Length.
        case none
        /// Sent together with the head.
        case small([UInt8])
        case upload(UploadChannel)
    }

    /// Bodies up to this size leave in one write with the head.
    private static let smallBody = 64 << 10

    let id: Int
    let method: HTTPMethod
    /// The request target with the base's prefix, ending in NUL.
    let target: [UInt8]
    /// Field lines as libcurl takes them, each ending in NUL, one behind the other.
    let lines: [UInt8]
    let body: Body
    let answer: AnswerChannel
    let interim: (@Sendable (Int, HTTPFields) -> Void)?
    /// True for a bare connection without a request.
    let isProbe: Bool

    /// A bare connection.
    init(probe id: Int) {
        self.id = id
        method = .options
        target = []
        lines = []
        body = .none
        answer = AnswerChannel()
        interim = nil
        isProbe = true
    }

    /// Throws where the request can't be put on the wire as one.
    init(_ request: OriginRequest, id: Int, prefix: String) throws(OriginError) {
        let method = request.method
        guard !method.rawValue.isEmpty, method.rawValue.utf8.allSatisfy({ $0.isTokenByte }) else {
            throw .badAnswer(reason: "the method can't be sent")
        }
        var target = request.target.fieldBytes
        let mark = UInt8(ascii: "?")
        // The base itself, or the base with a query: an empty path is sent as `/` (RFC 9112 3.2.1).
        if target.isEmpty || target.first == mark, prefix.isEmpty { target.insert(UInt8(ascii: "/"), at: 0) }
        guard target.isEmpty || [UInt8(ascii: "/"), mark].contains(target[0]) || target == [UInt8(ascii: "*")],
            target.allSatisfy({ $0 > 0x20 && $0 != 0x7F })
        else { throw .badAnswer(reason: "the target can't be sent") }
        self.id = id
        self.method = method
        var whole: [UInt8] = []
        whole.reserveCapacity(prefix.utf8.count + target.count + 1)
        if !(target.count == 1 && target[0] == UInt8(ascii: "*")) { whole += prefix.utf8 }
        whole += target
        whole.append(0)
        self.target = whole
        answer = AnswerChannel()
        interim = request.interim
        isProbe = false
        switch request.body {
        case .none:
            // RFC 9110 8.6: a method that usually carries a body says so when it has none.
            body = method == .post || method == .put || method == .patch ? .small([]) : .none
        case .bytes(let bytes) where bytes.count <= Self.smallBody: body = .small(bytes)
        case .bytes(let bytes): body = .upload(UploadChannel(bytes: bytes))
        case .stream(let length, let source): body = .upload(UploadChannel(length: length, source: source))
        }
        lines = try Self.lines(request.fields)
    }

    /// Whether libcurl may send it again on a new connection when a pooled one turns out to be dead.
    var isRepeatable: Bool {
        guard method == .get || method == .head || method == .options else { return false }
        if case .upload = body { return false }
        return true
    }

    var hasBody: Bool {
        switch body {
        case .none: false
        case .small(let bytes): !bytes.isEmpty
        case .upload: true
        }
    }

    /// What libcurl or the connection makes.
    private static let framing = [
        "Host", "Content-Length", "Transfer-Encoding", "Connection", "Expect", "Keep-Alive", "TE", "Trailer",
        "Upgrade", "Proxy-Connection",
    ]

    /// What libcurl adds where the request says nothing of it.
    private static let added = ["Accept", "Content-Type", "User-Agent"]

    /// The fields of the request, and an empty line for each that libcurl would add by itself.
    private static func lines(_ fields: HTTPFields) throws(OriginError) -> [UInt8] {
        var lines: [UInt8] = []
        lines.reserveCapacity(512)
        for field in fields where !framing.contains(where: { field.name.equalsIgnoringASCIICase($0) }) {
            let value = field.value.utf8
            guard !field.name.isEmpty, field.name.utf8.allSatisfy({ $0.isTokenByte }),
                value.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 })
            else { throw .badAnswer(reason: "the field \(field.name) can't be sent") }
            // libcurl drops "Name:" and sends "Name;" as "Name:".
            lines += field.name.utf8
            if value.allSatisfy({ $0.isFieldSpace }) {
                lines.append(0x3B)
            } else {
                lines.append(0x3A)
                lines.append(0x20)
                // 0xF4 begins what may stand for bytes that are no UTF-8.
                if value.contains(0xF4) { lines += field.value.fieldBytes } else { lines += value }
            }
            lines.append(0)
        }
        for name in Self.added where !fields.contains(name) {
            lines += name.utf8
            lines += ":\0".utf8
        }
        lines += "Expect:\0".utf8
        return lines
    }
}
