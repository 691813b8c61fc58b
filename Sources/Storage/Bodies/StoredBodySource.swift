import CacheCore
import Synchronization

/// Reads a part of an open body file in pieces of 256 KiB, or tells where the next 2 MiB of it lie.
final class FileBodySource: FileSource {
    private let file: FileHandle
    private let files: FileThreads
    private let rest: Mutex<Range<Int64>>

    init(file: FileHandle, files: FileThreads, range: Range<Int64>) {
        self.file = file
        self.files = files
        rest = Mutex(range)
    }

    func next() async throws -> [UInt8]? {
        let piece = take(1 << 18)
        guard !piece.isEmpty else { return nil }
        return try await Self.read(piece, of: file, on: files)
    }

    func nextPart() async throws -> FilePart? {
        let piece = take(1 << 21)
        guard !piece.isEmpty else { return nil }
        // Whoever sends it must not wait for the disk.
        let isThere = try await files.run { [file] () throws(StoreError) in
            file.load(piece)
        }
        guard isThere else { throw StoreError.corrupt(reason: "a body file is too short") }
        return FilePart(
            descriptor: file.descriptor, offset: piece.lowerBound, length: piece.count, of: file
        ) { [file, files] in try await Self.read(piece, of: file, on: files) }
    }

    private func take(_ count: Int64) -> Range<Int64> {
        rest.withLock { rest in
            let end = min(rest.upperBound, rest.lowerBound + count)
            defer { rest = end..<rest.upperBound }
            return rest.lowerBound..<end
        }
    }

    private static func read(
        _ piece: Range<Int64>, of file: FileHandle, on files: FileThreads
    ) async throws(StoreError) -> [UInt8] {
        try await files.run { () throws(StoreError) in
            let bytes: [UInt8]
            do throws(FileError) { bytes = try file.read(at: piece.lowerBound, count: piece.count) } catch {
                throw error.storeError
            }
            guard bytes.count == piece.count else { throw .corrupt(reason: "a body file is too short") }
            return bytes
        }
    }

    func cancel() { rest.withLock { $0 = $0.upperBound..<$0.upperBound } }
}

/// Bytes that are in memory already, in pieces of 256 KiB.
final class InlineBodySource: BodySource {
    private let rest: Mutex<ArraySlice<UInt8>>

    init(_ bytes: ArraySlice<UInt8>) { rest = Mutex(bytes) }

    func next() async throws -> [UInt8]? {
        rest.withLock { rest in
            guard !rest.isEmpty else { return nil }
            let piece = Array(rest.prefix(1 << 18))
            rest = rest.dropFirst(piece.count)
            return piece
        }
    }

    func cancel() { rest.withLock { $0 = [] } }
}
