import Glibc
import HTTPModel
import TestSupport
import Testing

@Suite("The contract")
struct ContractTests {
    @Test("/openapi.yaml is the file of the repository")
    func served() async throws {
        let reply = try await ManagementFixture().send(.get, "/openapi.yaml")
        #expect(reply.body == Self.file())
    }

    private static func file() -> [UInt8] {
        let root = #filePath.split(separator: "/").dropLast(4).joined(separator: "/")
        guard let file = fopen("/" + root + "/openapi.yaml", "r") else { return [] }
        defer { fclose(file) }
        var bytes: [UInt8] = []
        var byte = getc(file)
        while byte != EOF {
            bytes.append(UInt8(truncatingIfNeeded: byte))
            byte = getc(file)
        }
        return bytes
    }
}
