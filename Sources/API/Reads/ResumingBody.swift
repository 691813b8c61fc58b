import CacheCore
import HTTPModel
import Synchronization

/// A body whose transfer goes on where it was cut, so that those who read it see no break (design 7): the rest is asked for with
/// Range and If-Range, and taken only where it is the rest of the same bytes.
final class ResumingBody: BodySource {
    private struct State {
        var body: any BodySource
        /// Of the next byte, in the representation.
        var position: Int64
        /// Where the last transfer began.
        var begun: Int64
        var failures = 0
        var isCancelled = false
    }

    private let context: ServiceContext
    private let request: OriginRequest
    private let validator: String
    /// Which bytes of the representation the body brings.
    private let range: Range<Int64>
    private let total: Int64
    private let state: Mutex<State>

    /// Seconds before each further try. Who reads waits meanwhile.
    private static let pauses = [0, 0.25, 0.5, 1, 2]
    /// A transfer that brought so much was worth it: the tries are counted anew.
    private static let progress: Int64 = 64 << 10

    /// nil where the origin does not let it be resumed: without a strong validator, a known length, or its word that it knows
    /// ranges. `head`: what is kept of the answer; `request`: what the rest is asked for with, without conditions and ranges.
    init?(
        _ response: OriginResponse, _ extent: Extent?, head: ServerCopy, request: OriginRequest, context: ServiceContext
    ) {
        guard response.whole == nil, let extent, let total = extent.total, let validator = head.strongValidator,
            response.status == 206 || response.fields.combined("Accept-Ranges")?.asciiLowercased == "bytes"
        else { return nil }
        self.context = context
        self.request = request
        self.validator = validator
        range = extent.range
        self.total = total
        state = Mutex(State(body: response.body, position: range.lowerBound, begun: range.lowerBound))
    }

    func next() async throws -> [UInt8]? {
        while true {
            do {
                guard let piece = try await state.withLock({ $0.body }).next() else { return nil }
                state.withLock { $0.position += Int64(piece.count) }
                return piece
            } catch let error as OriginError {
                guard error != .cancelled, await resume() else { throw error }
            }
        }
    }

    func cancel() {
        let body = state.withLock { state in
            state.isCancelled = true
            return state.body
        }
        body.cancel()
    }

    /// Whether the rest is on its way.
    private func resume() async -> Bool {
        while let pause = nextPause() {
            if pause > 0 { await context.clock.sleep(until: context.clock.now + pause) }
            let position = state.withLock { $0.position }
            var request = request
            request.fields["Range"] =
                RangeFill(start: position, end: range.upperBound == total ? nil : range.upperBound).text
            request.fields["If-Range"] = validator
            let response: OriginResponse
            do {
                response = try await context.origin.send(request)
            } catch {
                if case .unreachable = error { context.network.connectionFailed(error) }
                continue
            }
            if takes(response, from: position) { return true }
            response.body.cancel()
            // Trouble may pass; another version does not.
            guard response.status >= 500 else { return false }
        }
        return false
    }

    private func nextPause() -> Double? {
        state.withLock { state in
            if state.position - state.begun >= Self.progress { state.failures = 0 }
            state.begun = state.position
            guard !state.isCancelled, state.position < range.upperBound, state.failures < Self.pauses.count else {
                return nil
            }
            defer { state.failures += 1 }
            return Self.pauses[state.failures]
        }
    }

    /// Goes on with the answer where it is the rest (RFC 9110 15.3.7.3).
    private func takes(_ response: OriginResponse, from position: Int64) -> Bool {
        let extent = Extent(status: response.status, fields: response.fields)
        guard response.status == 206, extent?.range == position..<range.upperBound, extent?.total == total,
            let told = response.fields["ETag"] ?? response.fields["Last-Modified"], told.hasSameBytes(as: validator)
        else { return false }
        return state.withLock { state in
            guard !state.isCancelled else { return false }
            state.body = response.body
            return true
        }
    }
}
