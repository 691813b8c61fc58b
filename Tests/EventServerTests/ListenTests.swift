import CacheCore
import EventServer
import Glibc
import HTTPModel
import Testing

/// Listeners, and connections in numbers and pieces.
@Suite struct ListenTests {
    private static let request = "GET /hit HTTP/1.1\r\nHost: a\r\n\r\n"

    /// A path of its own in the temporary folder.
    private func withPath(_ body: (String) async throws -> Void) async throws {
        var template = Array("/tmp/holdfast-listen-XXXXXX".utf8CString)
        mkdtemp(&template)
        let folder = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        defer {
            unlink(folder + "/s")
            rmdir(folder)
        }
        try await body(folder + "/s")
    }

    private func mode(_ path: String) -> mode_t? {
        var information = stat()
        return lstat(path, &information) == 0 ? information.st_mode : nil
    }

    private func hit(_ client: RawClient) async -> Bool {
        client.send(Self.request)
        return await client.read { $0.hasSuffix("\r\n\r\nxxx") }.hasPrefix("HTTP/1.1 200 ")
    }

    @Test func `a Unix socket is its owner's alone, serves, and is gone after stop`() async throws {
        try await withPath { path in
            let server = try ScriptedServer("unix:\(path)")
            #expect(mode(path).map { $0 & 0o777 } == 0o600)
            #expect(await hit(try server.client()))
            await server.stop()
            #expect(mode(path) == nil)
        }
    }

    @Test func `a socket that nobody listens on is replaced`() async throws {
        try await withPath { path in
            let stale = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
            var name = sockaddr_un()
            name.sun_family = sa_family_t(AF_UNIX)
            withUnsafeMutableBytes(of: &name.sun_path) { $0.copyBytes(from: path.utf8) }
            let bound = withUnsafePointer(to: &name) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(stale, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
                }
            }
            close(stale)
            #expect(bound == 0)
            let server = try ScriptedServer("unix:\(path)")
            #expect(await hit(try server.client()))
            await server.stop()
        }
    }

    @Test func `a socket in use is left alone`() async throws {
        try await withPath { path in
            let server = try ScriptedServer("unix:\(path)")
            #expect(throws: ServerError.self) { try ScriptedServer("unix:\(path)") }
            #expect(await hit(try server.client()))
            await server.stop()
        }
    }

    @Test func `an ordinary file is never replaced by a socket`() async throws {
        try await withPath { path in
            close(open(path, O_CREAT | O_WRONLY, 0o644))
            #expect(throws: ServerError.self) { try ScriptedServer("unix:\(path)") }
            #expect(mode(path).map { $0 & S_IFMT } == S_IFREG)
        }
    }

    @Test func `a start that fails leaves no socket`() async throws {
        try await withPath { path in
            let taken = try ScriptedServer()
            let handler = ScriptedHandler(journal: Journal(), hitSize: 3) { _, _ throws(ExchangeError) in }
            let server = EventServer(
                listeners: [.unix(path: path), try ListenAddress(parsing: taken.server.boundAddresses[0])], threads: 1,
                limits: ServerLimits(), handler: handler)
            #expect(throws: ServerError.self) { try server.start() }
            #expect(mode(path) == nil)
            await taken.stop()
        }
    }

    @Test func `a thousand connections are served side by side`() async throws {
        let server = try ScriptedServer(threads: 2)
        var clients: [RawClient] = []
        for _ in 0..<1000 { clients.append(try server.client()) }
        clients.forEach { $0.send(Self.request) }
        var served = 0
        for client in clients where await client.readToEnd(atMost: 40).bytes.starts(with: "HTTP/1.1 200 ".utf8) {
            served += 1
        }
        #expect(served == 1000)
        #expect(server.server.connectionCount == 1000)
        await server.stop()
        #expect(server.server.connectionCount == 0)
    }

    @Test func `a client of HTTP/1.0 that asks for it keeps its connection`() async throws {
        let server = try ScriptedServer()
        let client = try server.client()
        for _ in 0..<2 {
            client.send("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
            #expect(await client.read { $0.hasSuffix("ok") }.contains("Connection: keep-alive\r\n"))
        }
        await server.stop()
    }

    @Test func `204 has no Content-Length`() async throws {
        let server = try ScriptedServer { exchange, _ throws(ExchangeError) in
            exchange.respond(ResponseHead(status: 204, fields: ["Content-Length": "0"]), body: [])
        }
        let client = try server.client()
        client.send("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        #expect(await client.read().contains("Content-Length") == false)
        await server.stop()
    }

    @Test func `a head that comes byte by byte is understood, a request line of the limit included`() async throws {
        var limits = ServerLimits()
        limits.line = 40
        let server = try ScriptedServer(limits: limits)
        let client = try server.client()
        let line = "GET /\(String(repeating: "a", count: 40 - 5 - 9)) HTTP/1.1"
        for byte in "\(line)\r\nHost: a\r\nConnection: close\r\n\r\n".utf8 { client.send([byte]) }
        #expect(await client.read().hasPrefix("HTTP/1.1 200 "))
        await server.stop()
    }
}
