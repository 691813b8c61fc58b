package import CacheCore
import Glibc
import HTTPModel

/// Reads the present value of a credential: a file's content or a command's output, without the line end.
package enum SecretReader {
    /// Longer ones are no credentials.
    private static let limit = 64 << 10
    /// Seconds that a command may take.
    private static let patience: Int32 = 10

    /// nil where the file can't be read, or the command fails or takes too long. Runs on a thread of its own, since both block.
    package static func read(_ origin: CredentialSource.Origin) async -> String? {
        await withCheckedContinuation { continuation in
            let work = Work(origin: origin, continuation: continuation)
            var thread = pthread_t()
            let context = Unmanaged.passRetained(work)
            let code = pthread_create(
                &thread, nil,
                { context in
                    let work = Unmanaged<Work>.fromOpaque(context!).takeRetainedValue()
                    work.continuation.resume(returning: SecretReader.readNow(work.origin))
                    return nil
                }, context.toOpaque())
            if code == 0 {
                pthread_detach(thread)
            } else {
                context.release()
                continuation.resume(returning: nil)
            }
        }
    }

    private final class Work: Sendable {
        let origin: CredentialSource.Origin
        let continuation: CheckedContinuation<String?, Never>

        init(origin: CredentialSource.Origin, continuation: CheckedContinuation<String?, Never>) {
            self.origin = origin
            self.continuation = continuation
        }
    }

    private static func readNow(_ origin: CredentialSource.Origin) -> String? {
        switch origin {
        case .file(let path):
            let descriptor = open(path, O_RDONLY | O_CLOEXEC)
            guard descriptor >= 0 else { return nil }
            defer { close(descriptor) }
            return drain(descriptor, until: nil)
        case .command(let words): return run(words)
        }
    }

    private static func run(_ words: [String]) -> String? {
        guard let program = words.first else { return nil }
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { return nil }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        defer { close(ends[0]) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_adddup2(&actions, ends[1], 1)
        // The signals that this process waits for are blocked in its threads; the command starts with none blocked.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
        var arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) }
        arguments.append(nil)
        defer { for argument in arguments { free(argument) } }
        var child: pid_t = 0
        let code = posix_spawnp(&child, program, &actions, &attributes, arguments, environ)
        close(ends[1])
        guard code == 0 else { return nil }
        var clock = timespec()
        clock_gettime(CLOCK_MONOTONIC, &clock)
        let deadline = clock.tv_sec + Int(patience)
        let value = drain(ends[0], until: deadline)
        if value == nil { kill(child, SIGKILL) }
        return status(of: child, until: deadline) == 0 ? value : nil
    }

    /// The status of a command that has closed its output. One that lives on past the deadline is killed.
    private static func status(of child: pid_t, until deadline: Int) -> Int32 {
        var status: Int32 = 0
        while true {
            let ended = waitpid(child, &status, WNOHANG)
            if ended == child || ended == -1 && errno != EINTR { return status }
            var now = timespec()
            clock_gettime(CLOCK_MONOTONIC, &now)
            if now.tv_sec >= deadline { kill(child, SIGKILL) }
            usleep(5000)
        }
    }

    /// Everything until the end, without the line end; nil at an error, above the limit or past the deadline.
    private static func drain(_ descriptor: Int32, until deadline: Int?) -> String? {
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 4096)
        while true {
            if let deadline {
                var now = timespec()
                clock_gettime(CLOCK_MONOTONIC, &now)
                var interest = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
                guard now.tv_sec < deadline, poll(&interest, 1, Int32((deadline - now.tv_sec) * 1000)) > 0 else {
                    return nil
                }
            }
            let count = Glibc.read(descriptor, &piece, piece.count)
            if count < 0 && errno == EINTR { continue }
            guard count >= 0 else { return nil }
            if count == 0 { break }
            bytes += piece[..<count]
            guard bytes.count <= limit else { return nil }
        }
        while let last = bytes.last, last == 10 || last == 13 { bytes.removeLast() }
        return String(fieldBytes: bytes)
    }
}
