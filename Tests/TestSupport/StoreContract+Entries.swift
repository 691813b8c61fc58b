import CacheCore
import HTTPModel

/// Entries: copies, expiry, policies, pins, lists.
extension StoreContract {
    static let entryRules = [
        StoreRule("An entry that was never stored is nil") { store in
            try require(try await store.entry(key("/a")) == nil, "there is an entry")
        },
        StoreRule("A copy is read back as it was put, with lastSync from its responseTime") { store in
            let copy = try await copy("a", in: store, at: 7)
            try await store.commit([.putCopy(key("/a"), copy)], durable: false)
            let entry = try await store.entry(key("/a"))
            try require(entry?.copies == [copy] && entry?.lastSync == 7, "\(String(describing: entry))")
            try require(try await store.entry(key("/a", someone)) == nil, "another partition sees it")
        },
        StoreRule("A copy takes the place of the one with equal selecting fields; others stay behind it") { store in
            let fields = ["a", "b"].map { [HTTPField("accept", $0)] }
            let first = try await copy("1", in: store, selecting: fields[0])
            let second = try await copy("2", in: store, selecting: fields[1])
            let third = try await copy("3", in: store, selecting: fields[0])
            for copy in [first, second, third] { try await store.commit([.putCopy(key("/a"), copy)], durable: true) }
            let copies = try await store.entry(key("/a"))?.copies
            try require(copies == [third, second], "\(String(describing: copies))")
        },
        StoreRule("The oldest variants beyond the limit go, and letters that only look alike are two variants") {
            store in
            for number in 0...Entry.variantLimit {
                let copy = try await copy("\(number)", in: store, selecting: [HTTPField("a", "\(number)")])
                try await store.commit([.putCopy(key("/a"), copy)], durable: false)
            }
            let copies = try await store.entry(key("/a"))?.copies ?? []
            try require(
                copies.count == Entry.variantLimit && copies.last?.selecting[0].value == "1", "\(copies.count)")
            for value in ["\u{E9}", "e\u{301}"] {
                let copy = try await copy(value, in: store, selecting: [HTTPField("a", value)])
                try await store.commit([.putCopy(key("/b"), copy)], durable: false)
            }
            try require(try await store.entry(key("/b"))?.copies.count == 2, "one displaced the other")
        },
        StoreRule("Expiring marks every copy and removes none") { store in
            for value in ["a", "b"] {
                let copy = try await copy(value, in: store, selecting: [HTTPField("accept", value)])
                try await store.commit([.putCopy(key("/a"), copy)], durable: true)
            }
            try await store.commit([.expire(key("/a")), .expire(key("/none"))], durable: true)
            let copies = try await store.entry(key("/a"))?.copies ?? []
            try require(copies.count == 2 && copies.allSatisfy(\.isExpired), "\(copies)")
            try require(try await store.entry(key("/none")) == nil, "expiring made an entry")
        },
        StoreRule("Expiring a path marks it with every query, in its partition alone") { store in
            let paths = ["/a", "/a?", "/a?x=1", "/a/b", "/a@", "/ab", "/a>"]
            for path in paths {
                try await store.commit([.putCopy(key(path), try await copy(path, in: store))], durable: false)
            }
            let others = try await copy("o", in: store)
            try await store.commit([.putCopy(key("/a", someone), others)], durable: false)
            try await store.commit([.expirePath(.none, path: "/a")], durable: true)
            var expired: [String] = []
            for path in paths where try await isExpired(key(path), in: store) { expired.append(path) }
            try require(expired == ["/a", "/a?", "/a?x=1"], "\(expired)")
            try require(try await !isExpired(key("/a", someone), in: store), "another partition's is expired")
        },
        StoreRule("Parts of a variant are combined, until the whole or an expiry takes them") { store in
            let parts = [
                try await parts([0..<4], in: store), try await parts([6..<20_006], in: store, at: 8),
                try await parts([1..<2], in: store, selecting: [HTTPField("accept", "x")]),
            ]
            for each in parts { try await store.commit([.putParts(key("/a"), each)], durable: true) }
            let entry = try await store.entry(key("/a"))
            let combined = parts[0].combined(with: parts[1])
            try require(entry?.parts == [parts[2], combined].compactMap { $0 }, "\(String(describing: entry))")
            for piece in combined?.pieces ?? [] {
                let bytes = try await store.bytes(of: piece.content, limit: 1 << 20)
                try require(bytes.count == piece.range.count, "\(bytes.count) bytes")
            }
            try await store.commit([.removeParts(key("/a"), selecting: parts[2].head.selecting)], durable: true)
            try require(try await store.entry(key("/a"))?.parts.count == 1, "the other parts are there")
            try await store.commit([.putCopy(key("/a"), try await copy("a", in: store))], durable: true)
            try require(try await store.entry(key("/a"))?.parts == [], "the whole left its parts")
            try await store.commit([.putParts(key("/a"), parts[0]), .expire(key("/a"))], durable: true)
            try require(try await store.entry(key("/a"))?.parts == [], "an expiry left parts")
        },
        StoreRule("Parts of other bytes take the place of what was there") { store in
            try await store.commit([.putParts(key("/a"), try await parts([0..<4], in: store))], durable: true)
            let other = try await parts([5..<6], in: store, tag: "other")
            try await store.commit([.putParts(key("/a"), other)], durable: true)
            try require(try await store.entry(key("/a"))?.parts == [other], "the old ones are there")
        },
        StoreRule("Removing an entry takes all of it") { store in
            try await store.commit(
                [
                    .putCopy(key("/a"), try await copy("a", in: store)), .setPin(key("/a"), .high),
                    .removeEntry(key("/a")), .removeEntry(key("/none")),
                ], durable: true)
            try require(try await store.entry(key("/a")) == nil, "it is still there")
            try require(await store.usage().entries == 0, "it is still counted")
        },
        StoreRule("Policy and pin are kept with and without copies") { store in
            try await store.commit(
                [.setPin(key("/a"), .normal), .setPolicy(key("/b"), PolicyLayer())], durable: true)
            try require(try await store.entry(key("/a"))?.pin == .normal, "no pin")
            try require(try await store.entry(key("/a"))?.copies.isEmpty == true, "a copy")
            try await store.commit([.putCopy(key("/a"), try await copy("a", in: store))], durable: true)
            try require(try await store.entry(key("/a"))?.pin == .normal, "the copy took the pin")
            try await store.commit([.setPin(key("/a"), nil)], durable: true)
            let entry = try await store.entry(key("/a"))
            try require(entry?.pin == nil && entry?.copies.count == 1, "\(String(describing: entry))")
        },
        StoreRule("A pin for something else is kept beside the own one, and the highest counts") { store in
            let source = Target(unchecked: "/list")
            try await store.commit(
                [.setPin(key("/a"), .normal), .setPin(key("/a"), .high, for: source)], durable: true)
            try require(try await store.entry(key("/a"))?.pin == .high, "not the highest")
            try await store.commit([.setPin(key("/a"), nil)], durable: true)
            try require(try await store.entry(key("/a"))?.pins == Pins(ancillary: [source: .high]), "both went")
            try await store.commit([.evict(key("/a"), ifOlderThan: .infinity)], durable: true)
            try require(try await store.entry(key("/a"))?.pin == .high, "it went with the copies")
            try await store.commit([.setPin(key("/a"), nil, for: source)], durable: true)
            try require(try await store.entry(key("/a"))?.pin == nil, "it stays")
        },
        StoreRule("A member from a list is kept only where the entry has no copy of its own") { store in
            var listed = try await copy("listed", in: store, at: 9)
            listed.isListed = true
            try await store.commit([.putCopy(key("/a/1"), try await copy("own", in: store, at: 5))], durable: true)
            try await store.commit([.putListed(key("/a/1"), listed), .putListed(key("/a/2"), listed)], durable: true)
            let own = try await store.entry(key("/a/1"))
            try require(own?.copies.map(\.etag) == ["\"own\""], "\(String(describing: own))")
            let other = try await store.entry(key("/a/2"))
            try require(other?.copies == [listed] && other?.lastSync == 9, "\(String(describing: other))")
        },
        StoreRule("What a whole list lacks expires or is gone, one segment below its path") { store in
            let targets = ["/a/1", "/a/2", "/a/2/x", "/a/3?q", "/a0", "/a"]
            for target in targets {
                try await store.commit([.putCopy(key(target), try await copy(target, in: store))], durable: false)
            }
            let others = try await copy("o", in: store)
            try await store.commit([.putCopy(key("/a/2", someone), others)], durable: false)
            let kept: Set<Target> = [Target(unchecked: "/a/1")]
            try await store.commit([.dropMembers(.none, path: "/a", except: kept, gone: nil)], durable: true)
            var expired: [String] = []
            for target in targets where try await isExpired(key(target), in: store) { expired.append(target) }
            try require(expired == ["/a/2"], "\(expired)")
            let gone = ServerCopy.gone(at: 50, epoch: store.epoch)
            try await store.commit([.dropMembers(.none, path: "/a/", except: kept, gone: gone)], durable: true)
            try require(try await store.entry(key("/a/2"))?.copies == [gone], "it is not gone")
            try require(try await isExpired(key("/a/2", someone), in: store) == false, "another partition's expired")
        },
        StoreRule("Lists of entries come in pages, by partition and target, filtered") { store in
            let keys = [key("/a"), key("/b"), key("/b/c"), key("/d"), key("/a", someone), key("/b", someone)]
            for key in keys.reversed() { try await store.commit([.setPin(key, .normal)], durable: false) }
            var seen: [EntryKey] = []
            var after: String?
            repeat {
                let page = try await store.entries(EntryFilter(), after: after, limit: 2)
                try require(page.items.count <= 2, "a page of \(page.items.count)")
                seen += page.items.map(\.key)
                after = page.next
            } while after != nil && seen.count < 20
            try require(seen == keys, "\(seen)")
            let some = try await store.entries(EntryFilter(partitions: [.none], prefix: "/b"), after: nil, limit: 9)
            try require(some.items.map(\.key) == [key("/b"), key("/b/c")] && some.next == nil, "\(some.items)")
            let partitions = try await store.partitions()
            try require(partitions.map(\.id) == [.none, someone], "\(partitions)")
            try require(partitions.map(\.entries) == [4, 2], "\(partitions)")
        },
    ]

    /// Parts of a body of 30,000 bytes, each piece with a content of its own.
    private static func parts(
        _ ranges: [Range<Int64>], in store: any Store, selecting: [HTTPField] = [], at time: Double = 2,
        tag: String = "parts"
    ) async throws -> PartialCopy {
        var head = try await copy(tag, in: store, selecting: selecting, at: time)
        head.fields["Date"] = HTTPDate(time).text
        var pieces: [PartialCopy.Piece] = []
        for range in ranges {
            let bytes = range.map { UInt8(truncatingIfNeeded: $0) }
            pieces.append(.init(range: range, content: try await store.makeContent(bytes, for: .copy)))
        }
        guard let parts = PartialCopy(head: head, length: 30_000, pieces: pieces) else {
            throw BrokenRule(description: "no parts")
        }
        return parts
    }

    private static func isExpired(_ key: EntryKey, in store: any Store) async throws -> Bool {
        try await store.entry(key)?.copies.first?.isExpired == true
    }
}
