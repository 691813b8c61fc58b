import CacheCore
import HTTPModel

/// Bodies, short and long.
extension StoreContract {
    private static let lengths = [0, 1, 16_384, 16_385, 65_536, 65_537, 1 << 20, 1_900_000]

    static let bodyRules = [
        StoreRule("Bodies of any length are read back whole and in part once they are referred to") { store in
            for length in lengths {
                let bytes = (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ length) }
                let writer = try await store.makeBody(for: .copy, length: nil)
                for start in stride(from: 0, to: length, by: 10_000) {
                    try await writer.append(Array(bytes[start..<min(start + 10_000, length)]))
                }
                let content = try await writer.finish()
                try require(content.length == Int64(length), "length \(content.length)")
                let copy = ServerCopy(
                    status: 200, fields: [:], content: content, requestTime: 1, responseTime: 2, epoch: 1)
                try await store.commit([.putCopy(key("/\(length)"), copy)], durable: true)
                try require(try await store.bytes(of: content, limit: 1 << 21) == bytes, "\(length) bytes")
                let part = Int64(length / 3)..<Int64(length / 2)
                let source = try await store.read(content, range: part)
                var read: [UInt8] = []
                while let piece = try await source.next() { read += piece }
                try require(read == Array(bytes[length / 3..<length / 2]), "a part of \(length) bytes")
            }
        },
        StoreRule("What was appended can be read before and after the end") { store in
            for pieceLength in [3, 30_000, 70_000, 1_500_000] {
                let writer = try await store.makeBody(for: .copy, length: nil)
                for number in UInt8(1)...2 {
                    try await writer.append([UInt8](repeating: number, count: pieceLength))
                    let end = Int64(pieceLength) * Int64(number)
                    let last = try await writer.written(end - 3..<end)
                    try require(last == [number, number, number], "\(last)")
                }
                _ = try await writer.finish()
                let middle = try await writer.written(Int64(pieceLength) - 1..<Int64(pieceLength) + 1)
                try require(middle == [1, 2], "\(middle)")
            }
        },
        StoreRule("Equal bytes are equal contents, and stay while anything refers to them") { store in
            let bytes = [UInt8](repeating: 9, count: 50_000)
            let one = try await store.makeContent(bytes, for: .copy)
            let other = try await store.makeContent(bytes, for: .copy)
            try require(one == other, "two contents")
            for name in ["/a", "/b"] {
                let copy = ServerCopy(
                    status: 200, fields: [:], content: one, requestTime: 1, responseTime: 2, epoch: 1)
                try await store.commit([.putCopy(key(name), copy)], durable: true)
            }
            try await store.commit([.removeEntry(key("/a"))], durable: true)
            try require(try await store.bytes(of: one, limit: 1 << 20) == bytes, "the bytes went")
        },
        StoreRule("The end of one holder's content leaves what another is about to commit") { store in
            let bytes = [UInt8](repeating: 8, count: 50_000)
            _ = try await store.makeContent(bytes, for: .copy)
            let other = try await store.makeContent(bytes, for: .copy)
            _ = try await store.makeContent(bytes, for: .copy)
            try await store.save()
            try require(try await store.bytes(of: other, limit: 1 << 20) == bytes, "the bytes went")
        },
        StoreRule("A body larger than the store may hold is refused at once") { store in
            do {
                _ = try await store.makeBody(for: .operation, length: 1 << 40)
                throw BrokenRule(description: "it was taken")
            } catch let error as StoreError {
                try require(error == .tooLarge, "\(error)")
            }
        },
    ]
}
