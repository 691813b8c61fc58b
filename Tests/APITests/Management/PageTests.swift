import API
import HTTPModel
import TestSupport
import Testing

@Suite("The page for people")
struct PageTests {
    private static let files = ["index.html", "style.css", "app.js", "document.js", "conflict.js", "events.js"]

    @Test("Each file is served as it stands in the repository, and lets nothing else run", arguments: files)
    func served(file: String) async throws {
        let path = file == "index.html" ? "/cache/ui" : "/cache/ui/" + file
        let reply = try await ManagementFixture().send(.get, path, access: .open)
        #expect(reply.status == 200)
        #expect(reply.body == repositoryFile("Sources/CPages/" + file))
        let policy = try #require(reply.fields["Content-Security-Policy"])
        #expect(policy.contains("default-src 'none'") && !policy.contains("unsafe"))
    }

    @Test("The page sets nothing as markup")
    func escapes() {
        for file in Self.files {
            let text = String(decoding: repositoryFile("Sources/CPages/" + file), as: UTF8.self)
            for way in ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "onclick="] {
                #expect(!text.contains(way), "\(file): \(way)")
            }
        }
    }

    @Test("There is nothing beside", arguments: ["/cache/ui/x", "/cache/ui/index.html", "/cache/ui/app.js/x"])
    func others(path: String) async throws {
        #expect(try await ManagementFixture().send(.get, path).status == 404)
    }
}
