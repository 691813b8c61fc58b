import CacheCore

/// Members of lists, chosen and ordered.
extension StoreContract {
    private static func chosen(
        _ members: [String], filter: String? = nil, sort: String? = nil, from store: any Store
    ) async throws -> [String] {
        let selection = try await store.select(try MemberQuery(filter: filter, sort: sort))
        let half = members.count / 2
        for part in [members[..<half], members[half...]] {
            try await selection.add(part.map { ListRow(item: Array($0.utf8)) })
        }
        var found: [String] = []
        while case let rows = try await selection.next(2), !rows.isEmpty {
            found += rows.map { String(decoding: $0.item, as: UTF8.self) }
        }
        return found
    }

    private static let members = [
        #"{"n":1,"p":10.50,"name":"b","a":{"b":[1,{"c":true}]}}"#, #"{"n":2,"p":9,"name":"a","tag":null}"#,
        #"{"n":3,"p":"10","name":"é","a":{"b":"x"}}"#, #"{"n":4,"name":"B","ok":false}"#,
        #"{"n":5,"p":1e2,"name":"b","ok":true,"a":{"b":{"1":7}}}"#, "7",
    ]

    static let selectionRules = [
        StoreRule("A filter keeps the members for which every term holds, byte for byte and in order") { store in
            let cases: [(String, [Int])] = [
                ("p > 9", [1, 5]), ("p >= 9, name = \"b\"", [1, 5]), ("p = 10.5", [1]), ("p = 1.05e1", [1]),
                ("p != 9", [1, 5]), ("p = \"10\"", [3]), ("name < \"b\"", [2, 4]), ("name > \"b\"", [3]),
                ("name = \"\\u00e9\"", [3]), ("ok = true", [5]), ("ok != true", [4]), ("tag = null", [2]),
                ("tag != null", []), ("p != null", [1, 2, 3, 5]), ("a.b = \"x\"", [3]), ("/a/b/0 = 1", [1]),
                ("/a/b/1/c = true", [1]), ("/a/b/1 = 7", [5]), ("n<=2,n>=2", [2]), ("missing = 1", []),
            ]
            for (filter, wanted) in cases {
                let found = try await chosen(members, filter: filter, from: store)
                try require(found == wanted.map { members[$0 - 1] }, "\(filter): \(found)")
            }
        },
        StoreRule("A sort orders by type, value, then the list's own order, and puts what has none last") { store in
            let cases: [(String, [Int])] = [
                ("p", [2, 1, 5, 3, 4, 6]), ("-p", [5, 1, 2, 3, 4, 6]), ("name", [4, 2, 1, 5, 3, 6]),
                ("name,-n", [4, 2, 5, 1, 3, 6]), ("ok", [4, 5, 1, 2, 3, 6]), ("-/a/b", [3, 1, 2, 4, 5, 6]),
            ]
            for (sort, wanted) in cases {
                let found = try await chosen(members, sort: sort, from: store)
                try require(found == wanted.map { members[$0 - 1] }, "\(sort): \(found)")
            }
            let both = try await chosen(members, filter: "n > 1", sort: "-n", from: store)
            try require(both == [5, 4, 3, 2].map { members[$0 - 1] }, "\(both)")
        },
        StoreRule("A selection can be read again, with all columns") { store in
            let selection = try await store.select(try MemberQuery(filter: "v > 0", sort: "-v"))
            let rows = (0..<3).map { number in
                ListRow(item: Array("{\"v\":\(number)}".utf8), uri: Array("\"/\(number)\"".utf8), etag: [UInt8(number)])
            }
            try await selection.add(rows)
            for _ in 0..<2 {
                let found = try await selection.next(9)
                try require(found == [rows[2], rows[1]], "\(found)")
                let end = try await selection.next(9)
                try require(end.isEmpty, "more than all: \(end)")
                try await selection.rewind()
            }
        },
    ]
}
