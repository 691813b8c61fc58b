package import CacheCore

/// The look for damage: in body files, and in bodies that lie in rows.
extension SQLiteStore {
    /// Where a look goes on: at the files whose digests begin with a byte, or behind a row of a table.
    private enum Place {
        case files(Int)
        case rows(RecordTable, after: Int64)

        /// From the beginning for what is no place.
        init(_ text: String?) {
            let words = (text ?? "").split(separator: " ")
            self = .files(0)
            guard words.count == 2, let number = Int64(words[1]), number >= 0 else { return }
            if let table = RecordTable(rawValue: String(words[0])) {
                self = .rows(table, after: number)
            } else if words[0] == "files", number < 256 {
                self = .files(Int(number))
            }
        }

        var text: String {
            switch self {
            case .files(let byte): "files \(byte)"
            case .rows(let table, let row): "\(table.rawValue) \(row)"
            }
        }
    }

    /// Tables whose records hold short bodies.
    private enum RecordTable: String, CaseIterable {
        case entries, operations, finished, conflicts, keyRecords = "key_records"

        var next: Self? { Self.allCases.drop { $0 != self }.dropFirst().first }
    }

    private static let rowsAtOnce = 100

    package func bodyCount() async throws(StoreError) -> Int64 {
        let files = try await files.run { [shared] () throws(StoreError) in Int64(shared.bodies.digests().count) }
        let tables = RecordTable.allCases.map { "(SELECT count(*) FROM \($0.rawValue))" }.joined(separator: " + ")
        return try await rows("SELECT \(tables)", []) { $0.integer(0) }.reduce(files, +)
    }

    package func examine(after place: String?) async throws(StoreError) -> BodyExamination {
        switch Place(place) {
        case .files(let byte):
            var found = try await examineFiles(byte)
            found.next = (byte < 255 ? Place.files(byte + 1) : .rows(.entries, after: 0)).text
            return found
        case .rows(let table, let row): return try await examineRows(of: table, after: row)
        }
    }

    /// Compares a body with its digest, whether or not that was done before: how many bytes it has; nil where they are others or missing.
    /// A file of others is set aside.
    func examine(_ content: Content) async throws(StoreError) -> Int64? {
        if content.inline != nil { return content.isWhole ? content.length : nil }
        do throws(StoreError) {
            return try await compare(
                try await files.run { [shared] () throws(StoreError) in try shared.bodies.open(content) },
                with: content.digest)
        } catch {
            guard case .corrupt = error else { throw error }
            return nil
        }
    }

    private func examineFiles(_ byte: Int) async throws(StoreError) -> BodyExamination {
        var found = BodyExamination()
        let digests = try await files.run { [shared] () throws(StoreError) in shared.bodies.digests(part: byte) }
        for digest in digests {
            // What goes meanwhile is not missing.
            let content = Content(digest: digest, length: 0, inline: nil, hold: shared.bodies.hold(digest))
            guard shared.bodies.has(digest) else { continue }
            found.checked += 1
            if let bytes = try await examine(content) { found.bytes += bytes } else { found.damaged += 1 }
        }
        return found
    }

    private func examineRows(of table: RecordTable, after row: Int64) async throws(StoreError) -> BodyExamination {
        let names = table == .entries ? "partition, target" : "'', ''"
        let page = try await rows(
            "SELECT rowid, \(names), record FROM \(table.rawValue) WHERE rowid > ? ORDER BY rowid LIMIT ?",
            [.integer(row), .integer(Int64(Self.rowsAtOnce))]
        ) { row in
            let key = EntryKey(
                partition: PartitionID(text: row.text(1)) ?? PartitionID.none, target: Target(unchecked: row.text(2)))
            let inline = try Self.contents(of: row.blob(3), in: table, key: key).filter { $0.inline != nil }
            return (
                number: row.integer(0), key: key, bytes: inline.reduce(0) { $0 + $1.length },
                damaged: Int64(inline.count { !$0.isWhole })
            )
        }
        var found = BodyExamination()
        for row in page {
            found.checked += 1
            found.bytes += row.bytes
            guard row.damaged > 0 else { continue }
            found.damaged += row.damaged
            shared.log.write(.error, "a body in a row has other bytes than were stored", [("table", table.rawValue)])
            // What is no copy can't be had again: it stays for whoever looks at it.
            if table == .entries {
                let key = row.key
                try await write(.other { try $0.dropDamagedCopies(of: key) }, durable: true)
            }
        }
        if page.count == Self.rowsAtOnce, let last = page.last {
            found.next = Place.rows(table, after: last.number).text
        } else {
            found.next = table.next.map { Place.rows($0, after: 0).text }
        }
        return found
    }

    private static func contents(of record: [UInt8], in table: RecordTable, key: EntryKey) throws -> [Content] {
        switch table {
        case .entries: try Entry(key: key, record: record).contents
        case .operations, .finished: try Operation(record: record).contents
        case .conflicts: try Conflict(record: record).contents
        case .keyRecords: try KeyRecord(record: record).contents
        }
    }
}

extension Content {
    /// Whether bytes that lie in a row are those of the digest; true for those that lie in a file.
    var isWhole: Bool { inline.map { SHA256.digest(of: $0) == digest } ?? true }
}

extension StoreTransaction {
    /// Copies of the entry whose bytes in the row are not those that were stored go, so that the origin is asked for them again.
    fileprivate mutating func dropDamagedCopies(of key: EntryKey) throws {
        guard let stored = try storedEntry(key) else { return }
        var entry = stored.entry
        entry.copies.removeAll { !$0.content.isWhole }
        entry.parts.removeAll { part in part.pieces.contains { !$0.content.isWhole } }
        let isLeft = !entry.copies.isEmpty || !entry.parts.isEmpty
        if entry != stored.entry { try setEntry(isLeft ? entry : entry.withoutCopies, for: key, in: stored) }
    }
}
