import Glibc
import Synchronization
import Testing

/// The threads and the record behind a `ScriptedOrigin`; kept apart so that releasing the origin stops them.
final class ScriptedServer: Sendable {
    private struct State {
        var record = ScriptedOrigin.Record()
        var threads: [pthread_t] = []
        var isStopped = false
        var waiters: [Int: Waiter] = [:]
        var lastWaiter = 0
    }
    private struct Waiter {
        var condition: @Sendable (ScriptedOrigin.Record) -> Bool
        var continuation: CheckedContinuation<Void, Never>
    }

    let port: UInt16
    let beforeBody: ScriptedOrigin.Script?
    let script: ScriptedOrigin.Script
    /// Open once the origin stops: every wait of a thread ends with it.
    let stopping = Gate()
    private let listener: Int32
    private let state = Mutex(State())

    init(port: UInt16, beforeBody: ScriptedOrigin.Script?, script: @escaping ScriptedOrigin.Script) {
        self.beforeBody = beforeBody
        self.script = script
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var one: Int32 = 1
        setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, socklen_t(MemoryLayout<Int32>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let listens = withUnsafeMutablePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, length) == 0 && listen(listener, 512) == 0 && getsockname(listener, $0, &length) == 0
            }
        }
        precondition(listens, "can't listen on 127.0.0.1:\(port)")
        self.listener = listener
        self.port = UInt16(bigEndian: address.sin_port)
    }

    var record: ScriptedOrigin.Record { state.withLock { $0.record } }

    func wait(
        until condition: @escaping @Sendable (ScriptedOrigin.Record) -> Bool, _ sourceLocation: SourceLocation
    ) async {
        let id = state.withLock { state in
            state.lastWaiter += 1
            return state.lastWaiter
        }
        await patiently(sourceLocation: sourceLocation) {
            await withCheckedContinuation { continuation in
                let isMet = state.withLock { state in
                    if condition(state.record) { return true }
                    state.waiters[id] = Waiter(condition: condition, continuation: continuation)
                    return false
                }
                if isMet { continuation.resume() }
            }
        } giveUp: {
            self.state.withLock { $0.waiters.removeValue(forKey: id) }?.continuation.resume()
        }
    }

    /// Changes the record and wakes who waits for that.
    func note(_ change: (inout ScriptedOrigin.Record) -> Void) {
        let met = state.withLock { state in
            change(&state.record)
            let record = state.record
            let met = state.waiters.filter { $0.value.condition(record) }
            for id in met.keys { state.waiters[id] = nil }
            return Array(met.values)
        }
        for waiter in met { waiter.continuation.resume() }
    }

    func start() { run { self.acceptAll() } }

    func stop() {
        let isFirst = state.withLock { state in
            defer { state.isStopped = true }
            return !state.isStopped
        }
        guard isFirst else { return }
        stopping.open()
        while let thread = state.withLock({ $0.threads.popLast() }) { pthread_join(thread, nil) }
    }

    /// Runs work on a thread of its own, which `stop` waits for.
    private func run(_ work: @escaping @Sendable () -> Void) {
        final class Start: Sendable {
            let work: @Sendable () -> Void
            init(_ work: @escaping @Sendable () -> Void) { self.work = work }
        }
        let start = Unmanaged.passRetained(Start(work))
        var thread = pthread_t()
        let code = pthread_create(
            &thread, nil,
            { context in
                Unmanaged<Start>.fromOpaque(context!).takeRetainedValue().work()
                return nil
            }, start.toOpaque())
        precondition(code == 0, "no thread")
        state.withLock { $0.threads.append(thread) }
    }

    private func acceptAll() {
        defer { close(listener) }
        while waitReadable(listener) {
            let client = accept(listener, nil, nil)
            guard client >= 0 else { continue }
            _ = fcntl(client, F_SETFD, FD_CLOEXEC)
            var one: Int32 = 1
            setsockopt(client, Int32(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<Int32>.size))
            var number = 0
            note { record in
                number = record.connections
                record.connections += 1
            }
            run { [number] in
                ScriptedConnection(descriptor: client, number: number, server: self).serve()
            }
        }
    }

    /// True when the descriptor can be read, false when the origin stops.
    func waitReadable(_ descriptor: Int32, events: Int32 = POLLIN) -> Bool {
        var both = [
            pollfd(fd: descriptor, events: Int16(events), revents: 0),
            pollfd(fd: stopping.readEnd, events: Int16(POLLIN), revents: 0),
        ]
        while poll(&both, 2, -1) < 0 && errno == EINTR {}
        return both[1].revents == 0
    }
}
