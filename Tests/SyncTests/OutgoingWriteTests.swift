import CacheCore
import HTTPModel
import Sync
import TestSupport
import Testing

@Suite("What goes out")
struct OutgoingWriteTests {
    private func digest(_ bytes: [UInt8]) -> String { "sha-256=:\(Base64.encode(bytes)):" }

    @Test(
        "a digest goes with the body that it describes; that of one that took its place is told anew",
        arguments: [true, false])
    func digests(isOriginal: Bool) async throws {
        let body = try await MemoryStore().makeContent(Array("{}".utf8), for: .operation)
        var operation = Fixture.operation(body: body)
        let stated = isOriginal ? body.digest.bytes : [UInt8](repeating: 1, count: 32)
        operation.fields["Repr-Digest"] = digest(stated)
        operation.fields["Content-Digest"] = "md5=:AAAA:, " + digest(stated)
        let fields = OutgoingWrite(operation).fields
        #expect(fields["Repr-Digest"] == digest(body.digest.bytes))
        #expect(fields["Content-Digest"] == (isOriginal ? "md5=:AAAA:, " : "") + digest(body.digest.bytes))
    }

    @Test("another algorithm's digest gives way to the SHA-256 of what goes out")
    func otherAlgorithm() async throws {
        let body = try await MemoryStore().makeContent([1], for: .operation)
        var operation = Fixture.operation(body: body)
        operation.fields["Repr-Digest"] = "sha-512=:AAAA:"
        #expect(OutgoingWrite(operation).fields["Repr-Digest"] == digest(body.digest.bytes))
    }

    @Test("no digest goes out without a body, and none that nobody asked for")
    func none() async throws {
        var operation = Fixture.operation()
        operation.body = nil
        operation.fields["Repr-Digest"] = "sha-512=:AAAA:"
        #expect(!OutgoingWrite(operation).fields.contains("Repr-Digest"))
        let body = try await MemoryStore().makeContent([1], for: .operation)
        #expect(!OutgoingWrite(Fixture.operation(body: body)).fields.contains("Repr-Digest"))
    }
}
