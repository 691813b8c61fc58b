import CacheCore
import HTTPModel
import OriginClient
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(3))) struct StreamTests {
    static let size = 64 << 20

    @Test func `A large answer arrives whole, piece by piece`() async throws {
        let origin = ScriptedOrigin { _ in .head(200, ["Content-Length": "\(Self.size)"]) + [.pattern(count: Self.size)]
        }
        let body = try await client(origin).send(request(.get, "/")).body
        var count = 0
        var isRight = true
        while let piece = try await body.next() {
            isRight =
                isRight && piece.first == UInt8(count % 64_256 % 251) && !piece.isEmpty && piece.count <= 256 << 10
            count += piece.count
        }
        #expect(count == Self.size && isRight)
    }

    @Test func `An answer that nobody reads holds the origin back`() async throws {
        let begun = Gate()
        let isSent = Gate()
        let origin = ScriptedOrigin { request in
            guard request.target == "/slow" else { return .answer(200, [:], "ok") }
            return .head(200, ["Content-Length": "\(Self.size)"]) + [
                .open(begun), .pattern(count: Self.size), .open(isSent),
            ]
        }
        let client = try client(origin) { $0.idleTimeout = 2 }
        let slow = try await client.send(request(.get, "/slow")).body
        // Others are served meanwhile; waiting for the reader is nobody's timeout.
        for _ in 0..<200 { #expect(try await client.text(request(.get, "/")) == "ok") }
        await eventually { begun.isOpen }
        #expect(!isSent.isOpen)
        var count = 0
        while let piece = try await slow.next() { count += piece.count }
        #expect(count == Self.size)
        // The last bytes are here before the origin knows that it has sent them.
        await eventually { isSent.isOpen }
    }

    @Test("a large upload arrives whole", arguments: [Int64(StreamTests.size), nil])
    func upload(_ length: Int64?) async throws {
        let origin = ScriptedOrigin { .answer(200, [:], "\($0.bodyLength)") }
        let source = CountedSource(size: Self.size)
        let request = OriginRequest(method: .put, target: "/", body: .stream(length: length, source: source))
        #expect(try await client(origin).text(request) == "\(Self.size)")
        let fields = origin.requests[0].fields
        #expect(fields["Content-Length"] == length.map { String($0) })
        #expect(fields["Transfer-Encoding"] == (length == nil ? "chunked" : nil))
        #expect(!source.isCancelled)
    }

    @Test func `An origin that does not read holds the source back`() async throws {
        let gate = Gate()
        let origin = ScriptedOrigin(beforeBody: { _ in [.wait(gate)] }) { .answer(200, [:], "\($0.bodyLength)") }
        let client = try client(origin) { $0.idleTimeout = 2 }
        let source = CountedSource(size: Self.size)
        let error = await client.error(
            OriginRequest(method: .put, target: "/", body: .stream(length: nil, source: source)))
        #expect(error?.isTimeout == true, "\(String(describing: error))")
        // What the sockets hold and what waits in the queue, far from the whole.
        #expect(source.pulled < Self.size / 2)
        // The transfer ends before its source hears of it.
        await eventually { source.isCancelled }
        gate.open()
    }

    @Test("a source that is cut ends the transfer and is never sent as whole", arguments: [Int64(200_000), nil])
    func cutSource(_ length: Int64?) async throws {
        let origin = ScriptedOrigin { _ in .answer(200) }
        let source = CountedSource(size: 100_000, isCut: true)
        let error = try await client(origin).error(
            OriginRequest(method: .post, target: "/", body: .stream(length: length, source: source)))
        #expect(error == .cancelled)
        await origin.wait { $0.closed == 1 }
        #expect(origin.requests.allSatisfy { !$0.isComplete })
    }

    @Test("a source of another length than declared ends the transfer", arguments: [50_000, 150_000])
    func wrongLength(_ size: Int) async throws {
        let origin = ScriptedOrigin { _ in .answer(200) }
        let error = try await client(origin).error(
            OriginRequest(
                method: .post, target: "/", body: .stream(length: 100_000, source: CountedSource(size: size))))
        #expect(error == .cancelled)
    }

    @Test func `A refusal before the body is read is an answer`() async throws {
        let origin = ScriptedOrigin(beforeBody: { _ in .answer(413, [:], "too large") + [.awaitClose] }) { _ in [] }
        let source = CountedSource(size: Self.size)
        let answer = try await client(origin).send(
            OriginRequest(method: .put, target: "/", body: .stream(length: Int64(Self.size), source: source)))
        #expect(answer.status == 413)
        #expect(try await answer.body.text() == "too large")
        await origin.wait { $0.closed == 1 }
        #expect(source.pulled < Self.size)
    }
}
