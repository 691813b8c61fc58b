import CacheCore
import Glibc
import HTTPModel
import Synchronization

/// Serialises answer heads (RFC 9112 4, 6).
enum HeadWriter {
    enum Framing {
        /// Content-Length of this value.
        case length(Int64)
        case chunked
        /// Nothing: the status has no body, or closing ends it.
        case none
    }

    enum Connection { case keepAlive10, persistent, close }

    /// `room`: for so many bytes of a body behind it.
    static func bytes(of head: ResponseHead, framing: Framing, connection: Connection, room: Int = 0) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(480 + room)
        bytes += "HTTP/1.1 ".utf8
        bytes.appendDigits(head.status, width: 3)
        bytes.append(0x20)
        bytes += reason(head.status).utf8
        bytes += "\r\n".utf8
        var hasDate = false
        for field in head.fields {
            switch field.name.utf8.count {
            case 4 where field.name.equalsIgnoringASCIICase("date"): hasDate = true
            case 10 where field.name.equalsIgnoringASCIICase("connection"): continue
            case 17 where field.name.equalsIgnoringASCIICase("transfer-encoding"): continue
            case 14 where field.name.equalsIgnoringASCIICase("content-length"):
                // Kept where we frame nothing ourselves: the length that a HEAD or 304 answer tells.
                // RFC 9110 8.6: none with 1xx and 204.
                guard case .none = framing, head.status != 204, head.status >= 200 else { continue }
            default: break
            }
            bytes += field.name.utf8
            bytes += ": ".utf8
            append(field.value, to: &bytes)
            bytes += "\r\n".utf8
        }
        if !hasDate {
            bytes += "Date: ".utf8
            bytes += DateText.now.utf8
            bytes += "\r\n".utf8
        }
        switch framing {
        case .length(let length):
            bytes += "Content-Length: ".utf8
            bytes.appendDigits(Int(length), width: 1)
            bytes += "\r\n".utf8
        case .chunked: bytes += "Transfer-Encoding: chunked\r\n".utf8
        case .none: break
        }
        switch connection {
        case .persistent: break
        case .keepAlive10: bytes += "Connection: keep-alive\r\n".utf8
        case .close: bytes += "Connection: close\r\n".utf8
        }
        bytes += "\r\n".utf8
        return bytes
    }

    /// A CR or LF in a value would be a second field or answer: it is sent as a space (RFC 9110 5.5).
    private static func append(_ value: String, to bytes: inout [UInt8]) {
        // 0xF4 begins what may stand for bytes that are no UTF-8.
        if value.utf8.contains(where: { $0 < 0x20 || $0 == 0xF4 }) {
            bytes += value.fieldBytes.map { $0 == 13 || $0 == 10 || $0 == 0 ? 32 : $0 }
        } else {
            bytes += value.utf8
        }
    }

    private static func reason(_ status: Int) -> String {
        switch status {
        case 102: "Processing"
        case 103: "Early Hints"
        case 200: "OK"
        case 201: "Created"
        case 202: "Accepted"
        case 203: "Non-Authoritative Information"
        case 204: "No Content"
        case 206: "Partial Content"
        case 301: "Moved Permanently"
        case 302: "Found"
        case 303: "See Other"
        case 304: "Not Modified"
        case 307: "Temporary Redirect"
        case 308: "Permanent Redirect"
        case 400: "Bad Request"
        case 401: "Unauthorized"
        case 403: "Forbidden"
        case 404: "Not Found"
        case 405: "Method Not Allowed"
        case 408: "Request Timeout"
        case 409: "Conflict"
        case 410: "Gone"
        case 412: "Precondition Failed"
        case 413: "Content Too Large"
        case 414: "URI Too Long"
        case 415: "Unsupported Media Type"
        case 416: "Range Not Satisfiable"
        case 417: "Expectation Failed"
        case 421: "Misdirected Request"
        case 422: "Unprocessable Content"
        case 429: "Too Many Requests"
        case 431: "Request Header Fields Too Large"
        case 500: "Internal Server Error"
        case 501: "Not Implemented"
        case 502: "Bad Gateway"
        case 503: "Service Unavailable"
        case 504: "Gateway Timeout"
        case 505: "HTTP Version Not Supported"
        case 507: "Insufficient Storage"
        default: "Status"
        }
    }
}

/// The text of Date, made once a second.
enum DateText {
    private static let cache = Mutex<(second: Int, text: String)>((0, ""))

    static var now: String {
        let second = time(nil)
        return cache.withLock { cached in
            if cached.second != second { cached = (second, HTTPDate(seconds: Int64(second)).text) }
            return cached.text
        }
    }
}
