import CacheCore
import HTTPModel
import Synchronization

/// An exchange as handlers hold it. Its release without an answer is noticed here, since the connection holds only the core.
final class ServerExchange: Exchange {
    private let core: ExchangeCore

    init(_ core: ExchangeCore) { self.core = core }

    deinit {
        let (hasBegun, isOver) = core.answer.withLock { ($0.hasBegun, $0.isOver) }
        if !hasBegun {
            Self.respond(
                core, ResponseHead(status: 500, fields: ["Content-Type": "text/plain"]), Array("no answer\n".utf8))
        } else if !isOver {
            core.post(.abort)
        }
    }

    var head: RequestHead { core.head }
    var executor: (any TaskExecutor)? { core.loop }

    func readBody() async throws(ExchangeError) -> [UInt8]? {
        if let piece = core.bodyAtOnce() { return piece }
        let piece = try await withCheckedContinuation { core.post(.readBody($0)) }.get()
        core.noteRead(piece?.count ?? 0)
        return piece
    }

    func inform(_ head: ResponseHead) {
        guard core.head.minorVersion > 0 else { return }
        let bytes = HeadWriter.bytes(of: head, framing: .none, connection: .persistent)
        // Posted under the lock, so that it can't fall behind a final answer that begins on another thread.
        core.answer.withLock { if !$0.hasBegun { core.post(.write(bytes, nil)) } }
    }

    func respond(_ head: ResponseHead, body: [UInt8]) { Self.respond(core, head, body) }

    private static func respond(_ core: ExchangeCore, _ head: ResponseHead, _ body: [UInt8]) {
        guard let keepAlive = core.begin() else { return }
        let isHead = core.head.method == .head
        let hasNoBody = head.status == 204 || head.status == 304 || head.status < 200
        let framing: HeadWriter.Framing =
            hasNoBody || (isHead && head.fields.contains("Content-Length")) ? .none : .length(Int64(body.count))
        var bytes = HeadWriter.bytes(
            of: head, framing: framing, connection: core.connectionField(keepAlive), room: body.count)
        if !isHead && !hasNoBody { bytes += body }
        core.answer.withLock { $0.isOver = true }
        core.post(.finish(bytes, keepAlive: keepAlive))
    }

    func begin(_ head: ResponseHead, length: Int64?) {
        guard var keepAlive = core.begin() else { return }
        let hasNoBody = head.status == 204 || head.status == 304 || core.head.method == .head
        var framing = HeadWriter.Framing.none
        if hasNoBody {
            if let length, head.status != 204, head.status != 304 { framing = .length(length) }
        } else if let length {
            framing = .length(length)
        } else if core.head.minorVersion == 0 {
            keepAlive = false  // closing ends the body
        } else {
            framing = .chunked
        }
        let bytes = HeadWriter.bytes(of: head, framing: framing, connection: core.connectionField(keepAlive))
        core.answer.withLock { answer in
            answer.posted += bytes.count
            answer.keepAlive = keepAlive
            answer.sendsBody = !hasNoBody
            answer.left = hasNoBody ? nil : length
            if case .chunked = framing { answer.isChunked = true }
        }
        core.post(.write(bytes, nil))
    }

    func write(_ piece: [UInt8]) async throws(ExchangeError) {
        guard !piece.isEmpty else { return }
        let (sends, isChunked) = core.answer.withLock { answer in
            if let left = answer.left { answer.left = left - Int64(piece.count) }
            return (answer.sendsBody && !answer.isOver && (answer.left ?? 0) >= 0, answer.isChunked)
        }
        guard sends else { return }
        let bytes =
            isChunked
            ? Array("\(String(piece.count, radix: 16))\r\n".utf8) + piece + Array("\r\n".utf8) : piece
        if try core.postAtOnce(bytes) { return }
        try await withCheckedContinuation { core.post(.write(bytes, $0)) }.get()
    }

    func write(_ part: FilePart) async throws {
        let (sends, isChunked) = core.answer.withLock { answer in
            (answer.sendsBody && !answer.isOver && (answer.left.map { $0 >= part.length } ?? true), answer.isChunked)
        }
        guard sends, !isChunked else { return try await write(part.bytes) }
        core.answer.withLock { answer in
            if let left = answer.left { answer.left = left - Int64(part.length) }
        }
        try await withCheckedContinuation { core.post(.writePart(part, $0)) }.get()
    }

    func finish() {
        let (wasOver, isWhole, isChunked, keepAlive) = core.answer.withLock { answer in
            let wasOver = answer.isOver || !answer.hasBegun
            if answer.hasBegun { answer.isOver = true }
            return (wasOver, (answer.left ?? 0) == 0, answer.isChunked, answer.keepAlive)
        }
        guard !wasOver else { return }
        guard isWhole else { return core.post(.abort) }
        core.post(.finish(isChunked ? Array("0\r\n\r\n".utf8) : [], keepAlive: keepAlive))
    }

    func onDeparture(_ call: @escaping @Sendable () -> Void) { core.post(.watch(call)) }

    func abort() {
        core.answer.withLock { answer in
            answer.hasBegun = true
            answer.isOver = true
        }
        core.post(.abort)
    }
}

extension ExchangeCore {
    /// Marks the answer as begun; nil where it was before (a second answer is dropped). The value: whether the connection goes on.
    fileprivate func begin() -> Bool? {
        answer.withLock { answer in
            guard !answer.hasBegun else { return nil }
            answer.hasBegun = true
            return answer.keepAlive
        }
    }

    fileprivate func connectionField(_ keepAlive: Bool) -> HeadWriter.Connection {
        !keepAlive ? .close : head.minorVersion == 0 ? .keepAlive10 : .persistent
    }
}
