import HTTPModel

/// The head of a final answer, without hop-by-hop fields.
struct AnswerHead: Sendable {
    var status: Int
    var fields: HTTPFields
    var isDelimited: Bool
}

/// Reads the lines of an answer's head as they arrive (RFC 9112 4 and 5), those of interim answers ahead of it; trailers are
/// not its business.
struct HeadReader {
    enum Step {
        case more
        /// An interim answer; the final one is still to come.
        case interim(AnswerHead)
        case complete(AnswerHead)
        case bad(String)
    }

    /// The most bytes that all heads of one transfer may have.
    static let limit = 256 << 10

    private let isHeadRequest: Bool
    private var size = 0
    private var status = 0
    private var isHTTP2 = false
    private var fields = HTTPFields()

    init(isHeadRequest: Bool) { self.isHeadRequest = isHeadRequest }

    /// Takes one line with its line end.
    mutating func take(_ raw: UnsafeRawBufferPointer) -> Step {
        size += raw.count
        guard size <= Self.limit else { return .bad("the head of the answer is too large") }
        var end = raw.count
        while end > 0, unsafe raw[end - 1] == 0x0A || raw[end - 1] == 0x0D { end -= 1 }
        let line = unsafe UnsafeRawBufferPointer(rebasing: raw[..<end])
        if status == 0 { return unsafe takeStatus(line) }
        if unsafe line.isEmpty { return endOfHead() }
        return unsafe takeField(line)
    }

    private mutating func takeStatus(_ line: UnsafeRawBufferPointer) -> Step {
        let space = unsafe line.firstIndex(of: 0x20) ?? line.count
        let code = unsafe line[space...].dropFirst().prefix { $0 != 0x20 }
        guard unsafe line.starts(with: "HTTP/".utf8), unsafe code.count == 3, unsafe code.allSatisfy({ $0.isDigit })
        else { return .bad("the status line is malformed") }
        status = unsafe code.reduce(0) { $0 * 10 + Int($1 - 0x30) }
        isHTTP2 = unsafe space > 5 && line[5] == UInt8(ascii: "2")
        fields.reserveCapacity(12)
        return status >= 100 && status != 101 ? .more : .bad("the origin answered with status \(status)")
    }

    private mutating func takeField(_ line: UnsafeRawBufferPointer) -> Step {
        // They would let an answer reach other clients as two (RFC 9110 5.5).
        guard unsafe line.allSatisfy({ $0 != 0x00 && $0 != 0x0D }) else {
            return .bad("a field of the answer holds NUL or CR")
        }
        if unsafe line[0].isFieldSpace {
            // A folded line (RFC 9112 5.2) belongs to the one before.
            guard let last = fields.indices.last else { return .bad("the head of the answer is malformed") }
            fields[last].value += unsafe " " + Self.text(line[...])
            return .more
        }
        guard let colon = unsafe line.firstIndex(of: UInt8(ascii: ":")) else {
            return .bad("a field of the answer has no colon")
        }
        let name = unsafe Self.text(line[..<colon])
        guard !name.isEmpty, name.utf8.allSatisfy({ $0.isTokenByte }) else {
            return .bad("a field name of the answer is malformed")
        }
        fields.append(name, unsafe Self.text(line[(colon + 1)...]))
        return .more
    }

    private mutating func endOfHead() -> Step {
        guard status >= 200 else {
            defer {
                status = 0
                fields = HTTPFields()
            }
            HopByHop.remove(from: &fields)
            return .interim(AnswerHead(status: status, fields: fields, isDelimited: true))
        }
        let lengths = fields.values("Content-Length")
        guard lengths.allSatisfy({ $0 == lengths[0] }) else { return .bad("the answer has two lengths") }
        let codings = fields.values("Transfer-Encoding")
        // `identity` is how servers before RFC 9112 say that there is none. No other coding than chunks was asked for (RFC 9110 10.1.4):
        // libcurl would take two for one, and the end of chunks for the answer's where another coding comes behind them.
        let named = codings.filter { !$0.equalsIgnoringASCIICase("identity") }
        guard named.isEmpty || named.count == 1 && named[0].equalsIgnoringASCIICase("chunked") else {
            return .bad("the transfer codings of the answer are not understood")
        }
        // RFC 9112 6.3: Transfer-Encoding overrides, and the length must not be passed on.
        if !codings.isEmpty { fields.remove("Content-Length") }
        let hasNoBody = isHeadRequest || status == 204 || status == 304
        let isDelimited = hasNoBody || isHTTP2 || !named.isEmpty || codings.isEmpty && !lengths.isEmpty
        HopByHop.remove(from: &fields)
        return .complete(AnswerHead(status: status, fields: fields, isDelimited: isDelimited))
    }

    /// Without the space around it. Control bytes, which curl and nginx hand on, become spaces: clients' parsers refuse them, and a name
    /// that had one is malformed.
    private static func text(_ bytes: Slice<UnsafeRawBufferPointer>) -> String {
        var slice = unsafe bytes
        while let first = unsafe slice.first, first.isFieldSpace { unsafe slice = slice.dropFirst() }
        while let last = unsafe slice.last, last.isFieldSpace { unsafe slice = slice.dropLast() }
        if unsafe slice.allSatisfy({ !isControl($0) }) {
            return unsafe String(fieldBytes: UnsafeRawBufferPointer(rebasing: slice))
        }
        return unsafe String(fieldBytes: slice.map { isControl($0) ? 0x20 : $0 })
    }

    private static func isControl(_ byte: UInt8) -> Bool { byte < 0x20 && byte != 0x09 || byte == 0x7F }
}
