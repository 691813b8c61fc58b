import CacheCore
import HTTPModel
import OriginClient
import Synchronization
import TestSupport

/// A client of a scripted origin. `set` changes options.
func client(_ origin: ScriptedOrigin, path: String = "", set: (inout OriginOptions) -> Void = { _ in }) throws
    -> CurlOrigin
{
    var options = try OriginOptions(base: origin.base + path)
    set(&options)
    return try CurlOrigin(options)
}

func request(_ method: HTTPMethod, _ target: String, _ fields: HTTPFields = [:], body: String? = nil) -> OriginRequest {
    OriginRequest(method: method, target: target, fields: fields, body: body.map { .bytes(Array($0.utf8)) } ?? .none)
}

extension BodySource {
    /// The rest of the body.
    func all() async throws -> [UInt8] {
        var bytes: [UInt8] = []
        while let piece = try await next() { bytes += piece }
        return bytes
    }

    func text() async throws -> String { String(decoding: try await all(), as: UTF8.self) }
}

extension CurlOrigin {
    func text(_ request: OriginRequest) async throws -> String { try await send(request).body.text() }

    /// The error with which a request fails; nil where it gets an answer.
    func error(_ request: OriginRequest) async -> OriginError? {
        do {
            _ = try await send(request)
            return nil
        } catch {
            return error
        }
    }
}

extension OriginError {
    var isNoAnswer: Bool { if case .noAnswer = self { true } else { false } }
    var isTimeout: Bool { if case .timeout = self { true } else { false } }
    var isCutBody: Bool { if case .cutBody = self { true } else { false } }
    var isBadAnswer: Bool { if case .badAnswer = self { true } else { false } }
    var isPlainUnreachable: Bool { if case .unreachable(_, isTLS: false) = self { true } else { false } }
    var isTLSFailure: Bool { if case .unreachable(_, isTLS: true) = self { true } else { false } }
}

/// A body of a given size that counts what was pulled, and can end with an error or wait at a gate.
final class CountedSource: BodySource {
    struct Cut: Error {}

    private struct State {
        var left: Int
        var pulled = 0
        var isCancelled = false
    }

    private let state: Mutex<State>
    private let piece: Int
    private let isCut: Bool
    private let counted = AsyncStream<Int>.makeStream()

    init(size: Int, piece: Int = 64 << 10, isCut: Bool = false) {
        state = Mutex(State(left: size))
        self.piece = piece
        self.isCut = isCut
    }

    var pulled: Int { state.withLock { $0.pulled } }
    var isCancelled: Bool { state.withLock { $0.isCancelled } }

    func next() async throws -> [UInt8]? {
        let count = state.withLock { state in
            let count = min(piece, state.left)
            state.left -= count
            state.pulled += count
            return count
        }
        if count > 0 { return Array(repeating: 0x78, count: count) }
        if isCut { throw Cut() }
        return nil
    }

    func cancel() { state.withLock { $0.isCancelled = true } }
}
