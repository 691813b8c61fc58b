import CacheCore
import EventServer
import Glibc
import HTTPModel
import Testing

/// Parts of files that are sent as they lie there.
@Suite struct FilePartTests {
    /// An open file without a name.
    private final class Open: Sendable {
        let descriptor: Int32

        init(_ bytes: [UInt8]) {
            let file = tmpfile()!
            bytes.withUnsafeBytes { _ = fwrite($0.baseAddress, 1, $0.count, file) }
            fflush(file)
            descriptor = dup(fileno(file))
            fclose(file)
        }

        deinit { close(descriptor) }

        func part(_ offset: Int64, _ length: Int) -> FilePart {
            FilePart(descriptor: descriptor, offset: offset, length: length, of: self) { [] }
        }
    }

    private func send(_ parts: [FilePart], length: Int, to exchange: any Exchange) async throws(ExchangeError) {
        exchange.begin(ResponseHead(status: 200), length: Int64(length))
        for part in parts {
            do {
                try await exchange.write(part)
            } catch {
                throw error as? ExchangeError ?? .malformedBody
            }
        }
        exchange.finish()
    }

    @Test func `parts arrive in order and whole, also at a client that reads slowly`() async throws {
        let bytes = (0..<(6 << 20)).map { UInt8(truncatingIfNeeded: $0 &* 7 >> 3) }
        let file = Open(bytes)
        let server = try ScriptedServer { exchange, _ throws(ExchangeError) in
            try await send([file.part(0, 4 << 20), file.part(4 << 20, 2 << 20)], length: 6 << 20, to: exchange)
        }
        let client = try server.client(receiveBuffer: 32 << 10)
        client.send("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        let answer = await client.readToEnd()
        #expect(answer.end == .closed)
        #expect(answer.bytes.suffix(bytes.count).elementsEqual(bytes))
        await server.stop()
    }

    @Test func `a file that is shorter than its part breaks the answer off`() async throws {
        let file = Open([1, 2, 3])
        let server = try ScriptedServer { exchange, _ throws(ExchangeError) in
            try await send([file.part(0, 9)], length: 9, to: exchange)
        }
        let client = try server.client()
        client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(await client.readToEnd().end == .reset)
        #expect(await server.journal.nextError() == .disconnected)
        await server.stop()
    }

    @Test func `a client that goes away ends the writer of a part`() async throws {
        let file = Open([UInt8](repeating: 1, count: 8 << 20))
        let server = try ScriptedServer { exchange, _ throws(ExchangeError) in
            try await send([file.part(0, 8 << 20)], length: 8 << 20, to: exchange)
        }
        var client: RawClient? = try server.client(receiveBuffer: 32 << 10)
        client?.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        _ = await client?.readToEnd(atMost: 1000)
        client = nil
        #expect(await server.journal.nextError() == .disconnected)
        await server.stop()
    }
}
