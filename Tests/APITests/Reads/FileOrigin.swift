import CacheCore
import HTTPModel
import Synchronization
import TestSupport
import Testing

@testable import API

/// A file at an origin that knows ranges, If-Range and If-None-Match, and counts the bytes that it sends.
final class FileOrigin: Sendable {
    struct State: Sendable {
        var body: [UInt8]
        /// nil: no tag.
        var tag: String?
        var cacheControl = "max-age=60"
        var knowsRanges = true
        /// Whether it says so of itself.
        var saysRanges = false
        /// Whether a Range counts only where If-Range names the present tag.
        var heedsIfRange = true
        /// What it says of a part in place of the truth.
        var contentRange: String?
        /// Ends the body after so many bytes, of so many answers.
        var cutAfter: Int?
        var cuts = Int.max
        /// Held back after the first half of what is sent.
        var latch = Latch(isOpen: true)
        var sent = 0
    }

    private let file: ServedFile
    private let port: ScriptedOriginPort

    /// Answers from now on for all targets.
    init(_ fixture: ReadFixture, length: Int, tag: String? = "\"1\"") {
        port = fixture.origin
        let bytes = (0..<length).map { UInt8(truncatingIfNeeded: $0 / 7 + $0) }
        file = ServedFile(State(body: bytes, tag: tag))
        let clock = fixture.clock
        port.answer { [file] (request: OriginRequest) throws(OriginError) in
            file.answer(request.fields, now: clock.now)
        }
    }

    var body: [UInt8] { file.state.withLock { $0.body } }
    /// Body bytes sent so far.
    var sent: Int { file.state.withLock { $0.sent } }
    /// The Range of each request so far, "" where it had none.
    var ranges: [String] { port.requests.map { $0.fields["Range"] ?? "" } }
    var lastRequest: HTTPFields { port.requests.last?.fields ?? [:] }
    func change(_ body: (inout State) -> Void) { file.state.withLock { body(&$0) } }
}

/// What the port's rule holds: not the origin itself, which holds the port.
private final class ServedFile: Sendable {
    let state: Mutex<FileOrigin.State>

    init(_ state: FileOrigin.State) { self.state = Mutex(state) }

    func answer(_ request: HTTPFields, now: Double) -> OriginResponse {
        state.withLock { state in
            var fields: HTTPFields = ["Cache-Control": state.cacheControl, "Date": HTTPDate(now).text]
            fields["ETag"] = state.tag
            if state.saysRanges { fields["Accept-Ranges"] = "bytes" }
            if let tag = state.tag, request["If-None-Match"] == tag {
                return OriginResponse(status: 304, fields: fields, body: PacedBody([]))
            }
            let length = Int64(state.body.count)
            var range = 0..<length
            var status = 200
            if state.knowsRanges, !state.heedsIfRange || request["If-Range"].map({ $0 == state.tag }) ?? true,
                let set = request["Range"].flatMap({ ByteRangeSet($0) })
            {
                guard case .satisfiable(let ranges) = set.resolve(length: length) else {
                    fields["Content-Range"] = "bytes */\(length)"
                    return OriginResponse(status: 416, fields: fields, body: PacedBody([]))
                }
                range = ranges[0]
                status = 206
                fields["Content-Range"] = state.contentRange ?? ContentRange(range, length: length).text
            }
            fields["Content-Length"] = String(range.count)
            var bytes = Array(state.body[Int(range.lowerBound)..<Int(range.upperBound)])
            let isCut = (state.cutAfter ?? .max) < bytes.count && state.cuts > 0
            if isCut { state.cuts -= 1 }
            if let end = state.cutAfter, isCut { bytes = Array(bytes.prefix(end)) }
            state.sent += bytes.count
            let halves = [Array(bytes.prefix(bytes.count / 2)), Array(bytes.dropFirst(bytes.count / 2))]
            return OriginResponse(
                status: status, fields: fields,
                body: PacedBody(halves.filter { !$0.isEmpty }, latch: state.latch, isCut: isCut))
        }
    }
}

extension ReadFixture {
    /// Waits until nothing is in the air.
    func settle() async {
        await eventually { flights.count == 0 }
    }

    /// Waits until nothing of the entry is incomplete or in the air.
    func settle(_ target: String, until isSettled: (Entry) -> Bool) async throws {
        try await eventually {
            guard flights.count == 0, let entry = try await store.entry(key(target)) else { return false }
            return isSettled(entry)
        }
    }
}
