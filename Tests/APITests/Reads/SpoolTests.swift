import CacheCore
import TestSupport
import Testing

@testable import API

@Suite("A body and its readers", .timeLimit(.minutes(1)))
struct SpoolTests {
    @Test("after the end there is nothing more, however often it is asked for")
    func end() async throws {
        let spool = Spool(backing: nil)
        let reader = try #require(spool.makeReader())
        await spool.append([1, 2])
        spool.end(.complete)
        #expect(try await reader.next() == [1, 2])
        for _ in 0..<3 { #expect(try await reader.next() == nil) }
        #expect(!spool.hasReaders)
    }

    @Test("a part ends with its last byte, before the body does")
    func part() async throws {
        let spool = Spool(backing: nil)
        let reader = try #require(spool.makeReader())
        reader.narrow(to: 1..<3)
        await spool.append([1, 2])
        #expect(try await reader.next() == [2])
        await spool.append([3, 4])
        #expect(try await reader.next() == [3])
        for _ in 0..<3 { #expect(try await reader.next() == nil) }
        #expect(!spool.hasReaders)
    }

    @Test("a body that was cut is never at its end")
    func cut() async throws {
        let spool = Spool(backing: nil)
        let reader = try #require(spool.makeReader())
        await spool.append([1])
        spool.end(.failed(.cutBody(reason: "reset")))
        #expect(try await reader.next() == [1])
        for _ in 0..<2 { await #expect(throws: OriginError.self) { try await reader.next() } }
        #expect(!spool.hasReaders)
    }

    @Test("a reader that has left gets nothing any more, and holds nobody up")
    func left() async throws {
        let spool = Spool(backing: nil)
        let reader = try #require(spool.makeReader())
        reader.cancel()
        for _ in 0..<8 { await spool.append([UInt8](repeating: 1, count: 1 << 19)) }
        await #expect(throws: OriginError.self) { try await reader.next() }
        #expect(spool.makeReader() == nil)
    }
}
