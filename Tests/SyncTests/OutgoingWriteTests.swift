import CacheCore
import HTTPModel
import Sync
import TestSupport
import Testing

@Suite("What goes out")
struct OutgoingWriteTests {
    private func digest(_ bytes: [UInt8]) -> String { "sha-256=:\(Base64.encode(bytes)):" }

    @Test(
        "a digest goes with the body that it describes, and not with one that took its place", arguments: [true, false])
    func digests(isOriginal: Bool) async throws {
        let body = try await MemoryStore().makeContent(Array("{}".utf8), for: .operation)
        var operation = Fixture.operation(body: body)
        let stated = isOriginal ? body.digest.bytes : [UInt8](repeating: 1, count: 32)
        operation.fields["Repr-Digest"] = digest(stated)
        operation.fields["Content-Digest"] = "md5=:AAAA:, " + digest(stated)
        let fields = OutgoingWrite(operation).fields
        #expect(fields.contains("Repr-Digest") == isOriginal)
        #expect(fields.contains("Content-Digest") == isOriginal)
    }

    @Test("a digest that can't be told does not go out")
    func unknown() async throws {
        var operation = Fixture.operation(body: try await MemoryStore().makeContent([1], for: .operation))
        operation.fields["Repr-Digest"] = "sha-512=:AAAA:"
        #expect(!OutgoingWrite(operation).fields.contains("Repr-Digest"))
    }
}
