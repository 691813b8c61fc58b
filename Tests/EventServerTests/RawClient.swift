import Glibc

/// A blocking client that sends bytes as they are, over TCP or a Unix socket.
final class RawClient: Sendable {
    private let descriptor: Int32

    /// How a connection ended.
    enum End: Equatable { case closed, reset, stillOpen }

    struct Failure: Error {}

    /// `receiveBuffer`: a small one makes a slow reader of it.
    init(address: String, receiveBuffer: Int32? = nil) throws {
        let result: Int32
        if address.hasPrefix("unix:") {
            descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
            var name = sockaddr_un()
            name.sun_family = sa_family_t(AF_UNIX)
            withUnsafeMutableBytes(of: &name.sun_path) { $0.copyBytes(from: address.dropFirst(5).utf8) }
            result = Self.connect(descriptor, &name)
        } else {
            descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            if var receiveBuffer { setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &receiveBuffer, 4) }
            var name = sockaddr_in()
            name.sin_family = sa_family_t(AF_INET)
            name.sin_port = UInt16(address.split(separator: ":").last!)!.bigEndian
            name.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
            result = Self.connect(descriptor, &name)
        }
        guard result == 0 else { throw Failure() }
        // A test that fails must not hang.
        var limit = timeval(tv_sec: 20, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    }

    private static func connect<Name>(_ descriptor: Int32, _ name: inout Name) -> Int32 {
        withUnsafePointer(to: &name) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<Name>.size))
            }
        }
    }

    deinit { close(descriptor) }

    func send(_ text: String) { send(Array(text.utf8)) }

    func send(_ bytes: [UInt8]) {
        var sent = 0
        while sent < bytes.count {
            let n = bytes.withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress! + sent, bytes.count - sent, 0x4000)
            }
            guard n > 0 else { return }
            sent += n
        }
    }

    func shutWriting() { shutdown(descriptor, Int32(SHUT_WR)) }

    /// Reads until the peer closes, or until `enough` says so.
    func read(until enough: @escaping @Sendable (String) -> Bool = { _ in false }) async -> String {
        let (bytes, _) = await collect { enough(String(decoding: $0, as: UTF8.self)) }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Reads to the end, or to `count` bytes, and tells how it ended.
    func readToEnd(atMost count: Int = .max) async -> (bytes: [UInt8], end: End) {
        await collect { $0.count >= count }
    }

    /// Reads on a thread of its own: the pool's few threads belong to the handlers under test.
    private func collect(until enough: @escaping @Sendable ([UInt8]) -> Bool) async -> ([UInt8], End) {
        await withCheckedContinuation { continuation in
            let job = Unmanaged.passRetained(Job { continuation.resume(returning: self.collectNow(until: enough)) })
            var thread = pthread_t()
            pthread_create(
                &thread, nil,
                {
                    Unmanaged<Job>.fromOpaque($0!).takeRetainedValue().run()
                    return nil
                }, job.toOpaque())
            pthread_detach(thread)
        }
    }

    private final class Job {
        let run: () -> Void
        init(_ run: @escaping () -> Void) { self.run = run }
    }

    private func collectNow(until enough: ([UInt8]) -> Bool) -> ([UInt8], End) {
        var all: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65536)
        while !enough(all) {
            let n = recv(descriptor, &buffer, buffer.count, 0)
            if n == 0 { return (all, .closed) }
            if n < 0 { return (all, errno == ECONNRESET ? .reset : .stillOpen) }
            all += buffer[..<n]
        }
        return (all, .stillOpen)
    }
}
