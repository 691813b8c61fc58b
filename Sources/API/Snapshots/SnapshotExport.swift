import CacheCore

/// Writes the kept copies as a snapshot, in constant memory: each entry as it is at its turn.
struct SnapshotExport: Sendable {
    let context: ServiceContext
    /// Whether those of all partitions, with their key, or what is nobody's alone.
    let isWhole: Bool

    /// Gives the snapshot to `write` piece by piece. `entryDone` is told after each entry.
    func run(
        _ write: ([UInt8]) async throws -> Void, entryDone: () async -> Void = {}
    ) async throws {
        let hash = context.hash(.sha256)
        func send(_ line: SnapshotLine) async throws {
            let bytes = line.bytes(context.digest)
            hash.update(bytes)
            try await write(bytes)
        }
        let key = context.store.partitionKey
        try await send(
            .header(SnapshotHeader(createdAt: context.clock.now, partitionKey: isWhole ? key : nil)))
        let filter = EntryFilter(partitions: isWhole ? nil : [.none])
        var count: Int64 = 0
        var after: String?
        repeat {
            let page = try await context.store.entries(filter, after: after, limit: 100)
            after = page.next
            for listed in page.items {
                // Read once more, so that its bodies stay while they are written.
                guard let entry = try await context.store.entry(listed.key) else { continue }
                let own = entry.key.partition == .none ? key : context.store.partitionKey(of: entry.key.target)
                try await send(.entry(entry, partitionKey: own == key ? nil : own))
                for copy in entry.copies {
                    try await pieces(of: copy.content) { try await send(.body($0)) }
                }
                count += 1
                await entryDone()
            }
        } while after != nil
        try await write(
            SnapshotLine.end(entries: count, digest: Digest(bytes: hash.finish())).bytes(context.digest))
    }

    private func pieces(of content: Content, _ send: ([UInt8]) async throws -> Void) async throws {
        guard content.length > 0 else { return }
        let source = try await context.store.read(content, range: nil)
        defer { source.cancel() }
        var rest: [UInt8] = []
        while let piece = try await source.next() {
            rest += piece
            while rest.count >= SnapshotLine.pieceLength {
                try await send(Array(rest.prefix(SnapshotLine.pieceLength)))
                rest.removeFirst(SnapshotLine.pieceLength)
            }
        }
        if !rest.isEmpty { try await send(rest) }
    }
}
