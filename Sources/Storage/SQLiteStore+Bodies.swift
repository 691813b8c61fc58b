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

    /// Makes room for `bytes`, or throws.
    private func checkRoom(for bytes: Int64, purpose: ContentPurpose) async throws(StoreError) {
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

    package func read(_ content: Content, range: Range<Int64>?) async throws(StoreError) -> any BodySource {
        let range = (range ?? 0..<content.length).clamped(to: 0..<content.length)
        if let inline = content.inline {
            return InlineBodySource(inline[Int(range.lowerBound)..<Int(range.upperBound)])
        }
        let file = try await files.run { [shared] () throws(StoreError) in try shared.bodies.open(content) }
        return FileBodySource(file: file, files: files, range: range)
    }

    package func release(_ content: Content) {
        guard content.inline == nil else { return }
        shared.bodies.release(content.digest)
        _ = shared.jobs.add(
            WriteJob(
                work: .other { [shared] transaction in
                    let statement = try transaction.connection.statement("SELECT 1 FROM bodies WHERE digest = ?")
                    try statement.bind([.blob(content.digest.bytes)])
                    let isReferred = try statement.step()
                    statement.reset()
                    if !isReferred { shared.bodies.removeUnlessLeased(content.digest) }
                }, isDurable: false, answer: { _ in }))
    }

    package func usage() async -> StoreUsage {
        let totals = shared.memory.state.withLock { $0.totals }
        return StoreUsage(
            copies: totals.copies, operations: totals.operations, limit: shared.options.maxStoreSize,
            entries: totals.entries, viewBytes: shared.view?.bytes ?? 0)
    }
}
