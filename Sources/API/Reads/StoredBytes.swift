import CacheCore
import Synchronization

/// Where the bytes of a stored representation are.
enum StoredBytes: Sendable {
    case whole(Content)
    /// To be read only where they cover what is wanted.
    case parts(PartialCopy)

    var length: Int64 {
        switch self {
        case .whole(let content): content.length
        case .parts(let parts): parts.length
        }
    }

    /// nil for parts.
    var content: Content? {
        guard case .whole(let content) = self else { return nil }
        return content
    }

    /// All of them, where they are few.
    var inline: [UInt8]? { content?.inline }

    /// Throws where the first bytes can't be read.
    func read(_ range: Range<Int64>, from store: any Store) async throws -> any BodySource {
        switch self {
        case .whole(let content): return try await store.read(content, range: range)
        case .parts(let parts):
            let source = PartsSource(parts, range: range, store: store)
            try await source.open()
            return source
        }
    }
}

/// Reads a range out of the pieces of parts, which it keeps.
final class PartsSource: BodySource {
    private struct State {
        var rest: Range<Int64>
        var current: (any BodySource)?
    }

    private let state: Mutex<State>
    private let parts: PartialCopy
    private let store: any Store

    init(_ parts: PartialCopy, range: Range<Int64>, store: any Store) {
        state = Mutex(State(rest: range))
        self.parts = parts
        self.store = store
    }

    /// Opens the next piece, where there is one.
    func open() async throws(StoreError) {
        let rest = state.withLock { $0.rest }
        guard !rest.isEmpty else { return }
        guard let slice = parts.slices(of: rest)?.first else { throw .failed(reason: "a part is missing") }
        let source = try await store.read(slice.content, range: slice.range)
        state.withLock { $0.current = source }
    }

    func next() async throws -> [UInt8]? {
        while true {
            let (source, isOver) = state.withLock { ($0.current, $0.rest.isEmpty) }
            if isOver { return nil }
            if let piece = try await source?.next() {
                state.withLock { $0.rest = $0.rest.lowerBound + Int64(piece.count)..<$0.rest.upperBound }
                return piece
            }
            try await open()
        }
    }

    func cancel() {
        state.withLock { state in
            state.rest = state.rest.upperBound..<state.rest.upperBound
            state.current?.cancel()
        }
    }
}

/// Several sources, one after the other.
final class ChainedSource: BodySource {
    private let rest: Mutex<ArraySlice<any BodySource>>

    init(_ sources: [any BodySource]) { rest = Mutex(sources[...]) }

    func next() async throws -> [UInt8]? {
        while let source = rest.withLock({ $0.first }) {
            if let piece = try await source.next() { return piece }
            rest.withLock { _ = $0.popFirst() }
        }
        return nil
    }

    func cancel() {
        let left = rest.withLock { rest in
            defer { rest = [] }
            return rest
        }
        for source in left { source.cancel() }
    }
}
