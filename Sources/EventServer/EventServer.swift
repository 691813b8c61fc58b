internal import CEventHTTP
package import CacheCore
import Glibc
import Synchronization

/// The HTTP/1.1 server: listeners shared by loop threads, each of which owns its connections.
///
/// `start` and `stop` are called by one owner, in this order, once each.
package final class EventServer<Handler: RequestHandler>: Sendable {
    private struct State {
        var loops: [Loop<Handler>] = []
        var descriptors: [Int32] = []
        var paths: [String] = []
        var bound: [String] = []
    }

    private let addresses: [ListenAddress]
    private let threads: Int
    private let limits: ServerLimits
    private let handler: Handler
    private let counter = ConnectionCounter()
    private let state = Mutex(State())

    package init(listeners: [ListenAddress], threads: Int, limits: ServerLimits, handler: Handler) {
        self.addresses = listeners
        self.threads = max(1, threads)
        self.limits = limits
        self.handler = handler
    }

    /// Listens and starts the loops. Throws a text that names the address; no descriptor, socket file or thread is left then.
    package func start() throws(ServerError) {
        signal(SIGPIPE, SIG_IGN)
        var new = State()
        do {
            try listen(&new)
            try startLoops(&new)
        } catch {
            for loop in new.loops {
                loop.post(.stop)
                loop.join()
            }
            Self.release(new)
            throw error
        }
        let started = new
        state.withLock { $0 = started }
    }

    private func listen(_ new: inout State) throws(ServerError) {
        for address in addresses {
            let descriptor: Int32
            switch address {
            case .tcp(let host, let port):
                var name = [CChar](repeating: 0, count: 80)
                descriptor = unsafe hl_listen_tcp(host, port, &name, name.count)
                if descriptor >= 0 { new.bound.append(Self.text(name)) }
            case .unix(let path):
                descriptor = unsafe hl_listen_unix(path)
                if descriptor >= 0 {
                    new.bound.append("unix:\(path)")
                    new.paths.append(path)
                }
            }
            guard descriptor >= 0 else {
                throw ServerError(
                    unsafe "can't listen on \(Self.text(address)): \(String(cString: strerror(-descriptor)))")
            }
            new.descriptors.append(descriptor)
        }
    }

    private func startLoops(_ new: inout State) throws(ServerError) {
        for _ in 0..<threads {
            guard let loop = Loop(handler: handler, limits: limits, counter: counter) else {
                throw ServerError("no event loop could be made")
            }
            for (number, descriptor) in new.descriptors.enumerated() { try loop.listen(on: descriptor, number: number) }
            try loop.start()
            new.loops.append(loop)
        }
    }

    private static func release(_ state: State) {
        state.descriptors.forEach { close($0) }
        for path in state.paths { unsafe unlink(path) }
    }

    /// `HOST:PORT` as bound (a port 0 replaced by the real one), or `unix:PATH`, in the order of the listeners.
    package var boundAddresses: [String] { state.withLock { $0.bound } }

    /// Open connections of all loops.
    package var connectionCount: Int { counter.value }

    /// Other limits for what begins from now on.
    package func take(_ limits: ServerLimits) {
        for loop in state.withLock({ $0.loops }) { loop.post(.limits(limits)) }
    }

    /// Stops accepting, lets running exchanges end and their answers leave for at most `deadline` seconds, then closes everything;
    /// what is unfinished is reset. Whatever holds an exchange after that gets `ExchangeError.disconnected`.
    package func stop(deadline: Double) async {
        let current = state.withLock { $0 }
        current.loops.forEach { $0.post(.drain) }
        let end = ContinuousClock.now + .milliseconds(Int64(deadline * 1000))
        for loop in current.loops {
            while ContinuousClock.now < end, await loop.busy() > 0 { try? await Task.sleep(for: .milliseconds(20)) }
        }
        for loop in current.loops {
            loop.post(.stop)
            await loop.ended()
            loop.join()
        }
        Self.release(current)
    }

    private static func text(_ name: [CChar]) -> String {
        String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    private static func text(_ address: ListenAddress) -> String {
        switch address {
        case .tcp(let host, let port): host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
        case .unix(let path): "unix:\(path)"
        }
    }
}

/// The number of open connections, which the C side counts across loops.
///
/// Unchecked: the cell is only touched by atomic operations of the C side, and by a plain read here that may be a moment late.
@safe final class ConnectionCounter: @unchecked Sendable {
    let cell: UnsafeMutablePointer<Int64>

    init() {
        unsafe cell = .allocate(capacity: 1)
        unsafe cell.initialize(to: 0)
    }

    deinit { unsafe cell.deallocate() }

    var value: Int { unsafe Int(cell.pointee) }
}
