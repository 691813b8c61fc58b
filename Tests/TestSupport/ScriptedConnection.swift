import Glibc
import HTTPModel

/// One connection of a scripted origin, confined to its thread.
final class ScriptedConnection {
    private let descriptor: Int32
    private let number: Int
    private let server: ScriptedServer
    private var buffer: [UInt8] = []
    /// What one call reads, before it stands in the buffer.
    private var received = [UInt8](repeating: 0, count: 1 << 16)
    private var isOpen = true

    init(descriptor: Int32, number: Int, server: ScriptedServer) {
        self.descriptor = descriptor
        self.number = number
        self.server = server
    }

    func serve() {
        while isOpen, var request = readHead() {
            if let beforeBody = server.beforeBody { perform(beforeBody(request)) }
            guard isOpen else {
                server.note { $0.requests.append(request) }
                break
            }
            readBody(&request)
            server.note { $0.requests.append(request) }
            guard request.isComplete else { break }
            perform(server.script(request))
        }
        close(descriptor)
        server.note { $0.closed += 1 }
    }

    // MARK: reading

    private func readHead() -> ScriptedOrigin.Request? {
        let end: [UInt8] = [0x0D, 0x0A, 0x0D, 0x0A]
        var searched = 0
        while true {
            if let start = buffer[searched...].indices.first(where: { buffer[$0...].starts(with: end) }) {
                let head = Array(buffer[..<(start + 4)])
                buffer.removeFirst(start + 4)
                return parse(head)
            }
            searched = max(0, buffer.count - 3)
            guard fill() else { return nil }
        }
    }

    private func parse(_ head: [UInt8]) -> ScriptedOrigin.Request {
        var request = ScriptedOrigin.Request(connection: number, head: head)
        for (index, line) in head.split(separator: 0x0A).map({ $0.last == 0x0D ? $0.dropLast() : $0 }).enumerated() {
            if index == 0 {
                let parts = line.split(separator: 0x20, maxSplits: 2, omittingEmptySubsequences: false)
                request.method = String(fieldBytes: parts[0])
                request.target = parts.count > 1 ? String(fieldBytes: parts[1]) : ""
            } else if let colon = line.firstIndex(of: 0x3A) {
                let value = line[(colon + 1)...].drop(while: \.isFieldSpace)
                request.fields.append(String(fieldBytes: line[..<colon]), String(fieldBytes: value))
            }
        }
        return request
    }

    private func readBody(_ request: inout ScriptedOrigin.Request) {
        if request.fields["Transfer-Encoding"] != nil {
            while let line = readLine(), let size = Int(line, radix: 16) {
                guard size > 0 else {
                    while let line = readLine() { if line.isEmpty { return } }
                    break
                }
                guard take(size, into: &request), readLine() != nil else { break }
            }
            request.isComplete = false
        } else if let length = request.fields["Content-Length"].flatMap({ Int($0) }) {
            request.isComplete = take(length, into: &request)
        }
    }

    private func readLine() -> String? {
        while true {
            if let end = buffer.firstIndex(of: 0x0A) {
                let line = buffer[..<end].filter { $0 != 0x0D }
                buffer.removeFirst(end + 1)
                return String(decoding: line, as: UTF8.self)
            }
            guard fill() else { return nil }
        }
    }

    private func take(_ count: Int, into request: inout ScriptedOrigin.Request) -> Bool {
        var left = count
        while left > 0 {
            if buffer.isEmpty && !fill() { return false }
            let part = min(left, buffer.count)
            let room = max(0, (1 << 20) - request.body.count)
            request.body += buffer.prefix(min(part, room))
            request.bodyLength += part
            buffer.removeFirst(part)
            left -= part
            server.note { $0.bodyBytes += part }
        }
        return true
    }

    /// Reads more; false at the end of the connection or of the origin.
    private func fill() -> Bool {
        guard server.waitReadable(descriptor) else { return false }
        let count = received.withUnsafeMutableBytes { recv(descriptor, $0.baseAddress, $0.count, 0) }
        if count > 0 { buffer += received[..<count] }
        return count > 0
    }

    // MARK: doing

    private func perform(_ steps: [ScriptedStep]) {
        for step in steps where isOpen {
            switch step {
            case .bytes(let bytes): send(bytes)
            case .pattern(let count):
                let block = (0..<(251 * 256)).map { UInt8($0 % 251) }
                var left = count
                while left > 0 && isOpen {
                    send(left >= block.count ? block : Array(block.prefix(left)))
                    left -= block.count
                }
            case .wait(let gate): if !server.waitReadable(gate.readEnd) { isOpen = false }
            case .open(let gate): gate.open()
            case .pause(let milliseconds): if server.stopping.poll(for: milliseconds) { isOpen = false }
            case .awaitClose:
                while fill() { buffer.removeAll() }
                isOpen = false
            case .close: isOpen = false
            case .reset:
                var now = linger(l_onoff: 1, l_linger: 0)
                setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &now, socklen_t(MemoryLayout<linger>.size))
                isOpen = false
            }
        }
    }

    private func send(_ bytes: [UInt8]) {
        var sent = 0
        while sent < bytes.count {
            guard server.waitReadable(descriptor, events: POLLOUT) else {
                isOpen = false
                return
            }
            let count = bytes.withUnsafeBytes {
                Glibc.send(
                    descriptor, $0.baseAddress! + sent, bytes.count - sent,
                    Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
            }
            if count > 0 {
                sent += count
            } else if errno != EAGAIN && errno != EINTR {
                isOpen = false
                return
            }
        }
    }
}
