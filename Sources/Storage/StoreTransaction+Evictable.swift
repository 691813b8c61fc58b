import CacheCore

/// Which entries may be evicted: noted with each row, so that making room looks at those alone.
extension StoreTransaction {
    private static let pageSize = 1_000

    /// Notes it anew for the entries behind `key`, a thousand at most, after the configured policies have changed. The last one; nil
    /// at the end, or where all is noted under these policies already.
    mutating func reviseEvictable(after key: EntryKey?) throws -> EntryKey? {
        let rules = policies.evictionRules
        let known = try connection.statement("SELECT value FROM meta WHERE name = 'eviction_rules'")
        let isCurrent = try known.step() ? known.blob(0).elementsEqual(rules.utf8) : rules.isEmpty
        known.reset()
        guard !isCurrent else { return nil }
        let page = try connection.statement(
            """
            SELECT partition, target, record, evictable FROM entries
            WHERE (?1 IS NULL OR (partition, target) > (?1, ?2)) ORDER BY partition, target LIMIT ?3
            """)
        try page.bind([
            SQLValue(key?.partition.text), SQLValue(key?.target.text), .integer(Int64(Self.pageSize)),
        ])
        defer { page.reset() }
        var last: EntryKey?
        var count = 0
        var changed: [(key: EntryKey, isEvictable: Bool)] = []
        while try page.step() {
            guard let partition = PartitionID(text: page.text(0)) else { throw RecordError() }
            let key = EntryKey(partition: partition, target: Target(unchecked: page.text(1)))
            let isEvictable = try Entry(key: key, record: page.blob(2)).isEvictable(under: policies)
            if isEvictable != (page.integer(3) == 1) { changed.append((key, isEvictable)) }
            last = key
            count += 1
        }
        for (key, isEvictable) in changed {
            try connection.run(
                "UPDATE entries SET evictable = ? WHERE partition = ? AND target = ?", .integer(isEvictable ? 1 : 0),
                .text(key.partition.text), .text(key.target.text))
        }
        if count == Self.pageSize { return last }
        try connection.run("INSERT OR REPLACE INTO meta VALUES('eviction_rules', ?)", .blob(Array(rules.utf8)))
        return nil
    }
}

extension PolicyTable {
    /// What of the table decides about eviction, as text; empty where the built-in default does.
    fileprivate var evictionRules: String {
        var lines = rules.map { rule in
            rule.layer.evictionPolicy.map { rule.pattern.text + " " + $0.rawValue } ?? rule.pattern.text
        }
        if let policy = defaultLayer.evictionPolicy { lines.append("* " + policy.rawValue) }
        let isByDefault = defaultLayer.evictionPolicy == nil && rules.allSatisfy { $0.layer.evictionPolicy == nil }
        return isByDefault ? "" : lines.joined(separator: "\n")
    }
}
