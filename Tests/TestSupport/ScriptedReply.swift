package import HTTPModel

/// One thing a scripted origin does with a connection, in order.
package enum ScriptedStep: Sendable {
    /// Sends bytes in one call (so that slices arrive as slices).
    case bytes([UInt8])
    /// Sends `count` bytes of a repeated pattern (byte i is i modulo 251), without holding them in memory.
    case pattern(count: Int)
    /// Waits until the test opens the gate (or the origin stops).
    case wait(Gate)
    /// Opens a gate: tells the test that the script has come so far.
    case open(Gate)
    /// Lets time pass, for answers that are late.
    case pause(milliseconds: Int32)
    /// Waits until the client closes its side.
    case awaitClose
    /// Closes in order (FIN after what was sent).
    case close
    /// Closes with a reset.
    case reset
}

extension [ScriptedStep] {
    /// A whole answer with Content-Length; the connection stays open. `reason` is left empty, as HTTP allows.
    package static func answer(_ status: Int, _ fields: HTTPFields = [:], _ body: String = "") -> Self {
        answer(status, fields, bytes: Array<UInt8>(body.utf8))
    }

    package static func answer(_ status: Int, _ fields: HTTPFields = [:], bytes body: [UInt8]) -> Self {
        var fields = fields
        if status != 204 && status != 304 && !fields.contains("Content-Length") {
            fields.append("Content-Length", String(body.count))
        }
        return [.bytes(headBytes(status, fields) + body)]
    }

    /// A head exactly as given; no framing is added. Also for 1xx.
    package static func head(_ status: Int, _ fields: HTTPFields = [:]) -> Self { [.bytes(headBytes(status, fields))] }

    /// A chunked answer, one chunk (and one send) a piece.
    package static func chunked(_ status: Int, _ fields: HTTPFields = [:], _ pieces: [String]) -> Self {
        var fields = fields
        fields.append("Transfer-Encoding", "chunked")
        return head(status, fields) + pieces.map { .chunk($0) } + [.bytes(Array<UInt8>("0\r\n\r\n".utf8))]
    }

    /// An answer whose end is the end of the connection.
    package static func closeDelimited(_ status: Int, _ fields: HTTPFields = [:], _ body: String) -> Self {
        head(status, fields) + [.bytes(Array<UInt8>(body.utf8)), .close]
    }

    /// Closes without a byte of answer.
    package static var noAnswer: Self { [.close] }

    /// Bytes as they are.
    package static func raw(_ text: String) -> Self { [.bytes(Array<UInt8>(text.utf8))] }

    private static func headBytes(_ status: Int, _ fields: HTTPFields) -> [UInt8] {
        var bytes = Array<UInt8>("HTTP/1.1 \(status) \r\n".utf8)
        for field in fields { bytes += field.name.fieldBytes + [0x3A, 0x20] + field.value.fieldBytes + [0x0D, 0x0A] }
        return bytes + [0x0D, 0x0A]
    }
}

extension ScriptedStep {
    /// One chunk of a chunked body.
    package static func chunk(_ text: String) -> Self {
        .bytes(Array(String(text.utf8.count, radix: 16).utf8) + [0x0D, 0x0A] + Array(text.utf8) + [0x0D, 0x0A])
    }
}
