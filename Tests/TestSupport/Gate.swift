import Glibc

/// Something a script waits for until a test opens it. Stays open.
package final class Gate: Sendable {
    /// Readable (at its end) once the gate is open, so that a thread can wait for it together with a socket.
    let readEnd: Int32
    private let writeEnd: Int32

    package init() {
        var ends: [Int32] = [0, 0]
        precondition(pipe(&ends) == 0, "no pipe")
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        readEnd = ends[0]
        writeEnd = ends[1]
    }

    package func open() {
        var byte: UInt8 = 1
        _ = write(writeEnd, &byte, 1)
    }

    /// Whether `open` was called.
    package var isOpen: Bool { poll(for: 0) }

    /// Blocks the calling thread until the gate is open, at most `milliseconds` (-1: for ever).
    @discardableResult
    func poll(for milliseconds: Int32) -> Bool {
        var descriptor = pollfd(fd: readEnd, events: Int16(POLLIN), revents: 0)
        return Glibc.poll(&descriptor, 1, milliseconds) > 0
    }

    deinit {
        close(readEnd)
        close(writeEnd)
    }
}
