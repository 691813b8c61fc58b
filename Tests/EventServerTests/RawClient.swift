import Glibc

/// A blocking TCP client that sends bytes as they are.
final class RawClient: Sendable {
    private let descriptor: Int32

    init(address: String) throws {
        let port = UInt16(address.split(separator: ":").last!)!
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var name = sockaddr_in()
        name.sin_family = sa_family_t(AF_INET)
        name.sin_port = port.bigEndian
        name.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let result = withUnsafePointer(to: &name) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else { throw Failure() }
        // A test that fails must not hang.
        var limit = timeval(tv_sec: 20, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    }

    struct Failure: Error {}

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

    /// Reads until the peer closes, or until `enough` says so, on a thread of its own: the pool's few threads belong to the
    /// handlers under test.
    func read(until enough: @escaping @Sendable (String) -> Bool = { _ in false }) async -> String {
        await withCheckedContinuation { continuation in
            let job = Unmanaged.passRetained(Job { continuation.resume(returning: self.readNow(until: enough)) })
            var thread = pthread_t()
            pthread_create(
                &thread, nil,
                {
                    Unmanaged<Job>.fromOpaque($0!).takeRetainedValue().run(); return nil
                }, job.toOpaque())
            pthread_detach(thread)
        }
    }

    private final class Job {
        let run: () -> Void
        init(_ run: @escaping () -> Void) { self.run = run }
    }

    private func readNow(until enough: (String) -> Bool) -> String {
        var all: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65536)
        while !enough(String(decoding: all, as: UTF8.self)) {
            let n = recv(descriptor, &buffer, buffer.count, 0)
            guard n > 0 else { break }
            all += buffer[..<n]
        }
        return String(decoding: all, as: UTF8.self)
    }
}
