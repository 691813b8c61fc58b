package import CacheCore
import Glibc
import Synchronization

extension SQLiteStore {
    package func makeBody(
        for purpose: ContentPurpose, length: Int64?
    ) async throws(StoreError) -> any BodyWriter {
        try await checkRoom(for: length ?? 0, purpose: purpose)
        return StoredBodyWriter(
            bodies: shared.bodies, files: files, inlineThreshold: shared.options.inlineThreshold
        ) { [self] (length) async throws(StoreError) in try await checkRoom(for: length, purpose: purpose) }
    }

    package func makeShort(
        _ bytes: [UInt8], for purpose: ContentPurpose, at target: Target?
    ) async throws(StoreError) -> Content? {
        guard bytes.count <= shared.options.inlineThreshold else { return nil }
        try await checkRoom(for: Int64(bytes.count), purpose: purpose)
        return Content(digest: SHA256.digest(of: bytes), length: Int64(bytes.count), inline: bytes)
    }

    /// Makes room for `bytes`, or throws.
    func checkRoom(for bytes: Int64, purpose: ContentPurpose) async throws(StoreError) {
        let options = shared.options
        let most = purpose == .copy ? options.maxStoreSize / 10 * 9 : options.maxStoreSize
        guard bytes <= min(most, options.maxBodySize ?? .max) else { throw .tooLarge }
        let totals = shared.memory.state.withLock { $0.totals }
        let fits =
            totals.copies + totals.operations + bytes <= options.maxStoreSize
            && (purpose == .operation || totals.copies + bytes <= most)
        if fits { return }
        try await write(
            .other { transaction in
                try transaction.makeRoom(for: bytes, purpose: purpose, sparing: [])
                guard transaction.isWithinLimits(adding: bytes, for: purpose) else { throw StoreError.full }
            }, durable: false)
    }

    package func holds(_ content: Content) -> Bool { content.inline != nil || shared.bodies.has(content.digest) }

    package func read(_ content: Content, range: Range<Int64>?) async throws(StoreError) -> any BodySource {
        let range = (range ?? 0..<content.length).clamped(to: 0..<content.length)
        if let inline = content.inline {
            return InlineBodySource(inline[Int(range.lowerBound)..<Int(range.upperBound)])
        }
        return FileBodySource(file: try await open(content), files: files, range: range)
    }

    /// The body's file, once all of it was compared with its digest in this process: in steps, so that reads of others come between.
    private func open(_ content: Content) async throws(StoreError) -> FileHandle {
        let file = try await files.run { [shared] () throws(StoreError) in
            let file = try shared.bodies.open(content)
            // Cut since it was compared: it is compared again, and set aside, instead of breaking off all who read it.
            do throws(FileError) {
                if try file.length != content.length { shared.bodies.doubt(content.digest) }
            } catch { throw error.storeError }
            return file
        }
        if !shared.bodies.isVerified(content.digest) { _ = try await compare(file, with: content.digest) }
        return file
    }

    /// How many bytes it has; throws where they are not those of the digest.
    func compare(_ file: FileHandle, with digest: Digest) async throws(StoreError) -> Int64 {
        let check = BodyCheck(file)
        while try await files.run({ () throws(StoreError) in try check.step() }) {}
        return try await files.run { [shared] () throws(StoreError) in
            let length = check.length
            try shared.bodies.settle(digest, found: check.finish())
            return length
        }
    }

    package func file(of content: Content) async throws(StoreError) -> String? {
        if let inline = content.inline {
            try await files.run { [shared] () throws(StoreError) in
                do throws(FileError) { try shared.bodies.show(inline, as: content.digest) } catch {
                    throw error.storeError
                }
            }
        } else {
            _ = try await open(content)
        }
        return shared.bodies.absolutePath(of: content.digest)
    }

    package func usage() async -> StoreUsage {
        let (totals, unfinished, isFailing) = shared.memory.state.withLock {
            ($0.totals, $0.operations.count, $0.isFailing)
        }
        return StoreUsage(
            copies: totals.copies, operations: totals.operations, limit: shared.options.maxStoreSize,
            entries: totals.entries, unfinished: unfinished, viewBytes: shared.view?.bytes ?? 0,
            damagedBodies: shared.bodies.damaged, isFailing: isFailing)
    }
}
