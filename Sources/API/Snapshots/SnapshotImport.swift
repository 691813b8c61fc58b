package import CacheCore

/// Takes a snapshot in, all of it or nothing, in constant memory.
package struct SnapshotImport: Sendable {
    private let store: any Store
    private let digest: @Sendable ([UInt8]) -> Digest
    private let hash: @Sendable (HashAlgorithm) -> any RunningHash
    private let now: Double

    /// `digest`: SHA-256. `now`: seconds since 1970.
    package init(
        store: any Store, digest: @escaping @Sendable ([UInt8]) -> Digest,
        hash: @escaping @Sendable (HashAlgorithm) -> any RunningHash, now: Double
    ) {
        self.store = store
        self.digest = digest
        self.hash = hash
        self.now = now
    }

    /// The same of a snapshot that is in memory.
    package func read(_ text: String) async throws -> (entries: Int64, intake: any EntryIntake) {
        var rest: [UInt8]? = Array(text.utf8)
        return try await read {
            defer { rest = nil }
            return rest
        }
    }

    /// Reads the snapshot to its end and sets the entries aside, for the caller to commit. `next` gives its pieces, nil at the end.
    /// Throws `bad-snapshot`, which names the line that is wrong, or what `next` or the store throws; nothing stays then.
    package func read(
        _ next: () async throws -> [UInt8]?
    ) async throws -> (entries: Int64, intake: any EntryIntake) {
        let intake = try await store.intake()
        var reader = SnapshotReader(store: store, intake: intake, digest: digest, hash: hash(.sha256), now: now)
        do {
            var rest: [UInt8] = []
            while let piece = try await next() {
                var start = piece.startIndex
                while let end = piece[start...].firstIndex(of: UInt8(ascii: "\n")) {
                    try await reader.take(rest + piece[start..<end])
                    rest = []
                    start = end + 1
                }
                rest += piece[start...]
                guard rest.count < SnapshotLine.lineLimit else { throw reader.flaw("it is too long") }
            }
            if !rest.isEmpty { try await reader.take(rest) }
            return (try reader.finish(), intake)
        } catch {
            reader.giveUp()
            await intake.discard()
            guard let flaw = error as? SnapshotFlaw else { throw error }
            throw Problem(
                .badSnapshot, "Line \(flaw.line) of the snapshot: \(flaw.reason). Nothing of it was loaded.",
                members: [Problem.Member("line", json: "\(flaw.line)")])
        }
    }
}

/// The state between two lines.
private struct SnapshotReader {
    let store: any Store
    let intake: any EntryIntake
    let digest: @Sendable ([UInt8]) -> Digest
    let hash: any RunningHash
    let now: Double
    private var number = 0
    private var header: SnapshotHeader?
    private var entries: Int64 = 0
    private var hasEnded = false
    /// The entry whose bodies arrive, with the copy whose turn it is.
    private var entry: Entry?
    private var copy = 0
    private var writer: (any BodyWriter)?
    private var received: Int64 = 0

    init(
        store: any Store, intake: any EntryIntake, digest: @escaping @Sendable ([UInt8]) -> Digest,
        hash: any RunningHash, now: Double
    ) {
        self.store = store
        self.intake = intake
        self.digest = digest
        self.hash = hash
        self.now = now
    }

    func flaw(_ reason: String, line: Int? = nil) -> SnapshotFlaw {
        SnapshotFlaw(line: line ?? number + 1, reason: reason)
    }

    /// Takes the next line, without its newline.
    mutating func take(_ bytes: [UInt8]) async throws {
        guard !hasEnded else { throw flaw("it comes after the end") }
        let line = try SnapshotLine(bytes, number: number + 1, digest)
        switch line {
        case .header(let found):
            guard header == nil else { throw flaw("it is a second header") }
            header = found
        case .entry(let found, let key):
            guard header != nil, entry == nil else { throw flaw("it comes before a body is whole, or the header") }
            try checkStore(of: found.key.target)
            try check(found, key ?? header?.partitionKey)
            entry = aged(found)
            copy = 0
            try await passWhole()
        case .body(let piece): try await append(piece)
        case .end(let count, let sum):
            guard header != nil, entry == nil, count == entries else { throw flaw("entries are missing before it") }
            guard Digest(bytes: hash.finish()) == sum else { throw flaw("the digest of all lines is another") }
            hasEnded = true
            number += 1
            return
        }
        hash.update(bytes + [UInt8(ascii: "\n")])
        number += 1
    }

    private func checkStore(of target: Target) throws {
        let place = store.place(of: target)
        guard place.access == .passing(.storeDetached) else { return }
        throw Problem(
            .storeDetached,
            "Line \(number + 1) belongs to the store \(place.store). Attach or start it, and send the snapshot again.")
    }

    private func check(_ entry: Entry, _ key: [UInt8]?) throws {
        guard entry.key.partition != .none, key != store.partitionKey(of: entry.key.target) else { return }
        throw flaw(
            "its partition is made with another key. Start with the other instance's partition.key in an empty folder")
    }

    /// As one of an earlier start, of which nothing lies in the future, nor before there were such clocks.
    private func aged(_ found: Entry) -> Entry {
        var entry = found
        for index in entry.copies.indices {
            entry.copies[index].epoch = store.epoch - 1
            entry.copies[index].requestTime = min(max(entry.copies[index].requestTime, 0), now)
            entry.copies[index].responseTime = min(max(entry.copies[index].responseTime, 0), now)
        }
        return entry
    }

    private mutating func append(_ piece: [UInt8]) async throws {
        guard let entry else { throw flaw("it is a body without an entry") }
        let length = entry.copies[copy].content.length
        received += Int64(piece.count)
        guard received <= length, !piece.isEmpty else { throw flaw("the body is longer than its entry says") }
        if writer == nil { writer = try await store.makeBody(for: .copy, at: entry.key.target, length: length) }
        try await writer?.append(piece)
        guard received == length, let content = try await writer?.finish() else { return }
        writer = nil
        guard content.digest == entry.copies[copy].content.digest else {
            throw flaw("the digest of the body is another")
        }
        self.entry?.copies[copy].content = content
        copy += 1
        try await passWhole()
    }

    /// Goes on to the next copy with bytes to come; adds the entry where there is none.
    private mutating func passWhole() async throws {
        received = 0
        guard var found = entry else { return }
        while copy < found.copies.count, found.copies[copy].content.length == 0 {
            found.copies[copy].content = .empty
            copy += 1
        }
        entry = found
        guard copy == found.copies.count else { return }
        try await intake.add(found)
        entries += 1
        entry = nil
    }

    /// How many entries there were.
    func finish() throws -> Int64 {
        guard hasEnded else { throw flaw("the end is missing: the snapshot is cut") }
        return entries
    }

    func giveUp() { writer?.discard() }
}
