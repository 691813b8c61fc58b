import HTTPModel
import TestSupport
import Testing

@Suite("The contract")
struct ContractTests {
    @Test("/openapi.yaml is the file of the repository")
    func served() async throws {
        let reply = try await ManagementFixture().send(.get, "/openapi.yaml")
        #expect(reply.body == repositoryFile("openapi.yaml"))
    }

    @Test("Each path of the contract allows the methods that the contract gives it")
    func methods() async throws {
        let paths = Self.paths().filter { !$0.path.hasPrefix("/resources") && !$0.path.hasPrefix("/files") }
        #expect(paths.count > 20)
        for (path, methods) in paths {
            let parts = path.split(separator: "{", maxSplits: 1)
            let place = parts.count == 1 ? path : "\(parts[0])x\(parts[1].drop { $0 != "}" }.dropFirst())"
            let reply = try await ManagementFixture().send(.trace, place)
            let allowed = (reply.fields["Allow"] ?? "").split(separator: ",").map(\.trimmingFieldSpace)
            #expect(Set(allowed.map(String.init)).union(["HEAD"]) == methods.union(["HEAD"]), "\(path)")
        }
    }

    /// The paths of the contract with their methods, by the file's indentation.
    private static func paths() -> [(path: String, methods: Set<String>)] {
        var paths: [(path: String, methods: Set<String>)] = []
        for line in String(decoding: repositoryFile("openapi.yaml"), as: UTF8.self).split(separator: "\n") {
            if line == "components:" { break }
            if line.hasPrefix("  /") {
                paths.append((String(line.dropFirst(2).dropLast()), []))
            } else if line.hasPrefix("    "), !line.hasPrefix("     "), line.hasSuffix(":"), line != "    parameters:" {
                paths[paths.count - 1].methods.insert(line.dropFirst(4).dropLast().uppercased())
            }
        }
        return paths
    }
}
