import CacheCore
import Glibc

/// A selection in a database of its own, which lies in the store's folder without a name and is gone when it is closed. SQLite
/// holds a few megabytes of it in memory, however many members there are.
///
/// `@unchecked Sendable`: one caller at a time, and what a call does runs whole on one reader thread.
final class MemberTable: MemberSelection, @unchecked Sendable {
    private let connection: Connection
    private let sql: MemberSQL
    private let store: SQLiteStore
    private var count: Int64 = 0
    /// The statement that `next` goes on with.
    private var rows: Statement?
    /// Whether `rows` has given its last row: SQLite would begin again.
    private var isAtEnd = false

    /// Makes the empty table beside `path`. On a reader thread.
    init(_ query: MemberQuery, store: SQLiteStore, path: String) throws(SQLiteError) {
        self.store = store
        sql = MemberSQL(query)
        let path = path + ".select-" + IDs.record(now: store.shared.clock.now)
        defer { _ = unsafe unlink(path) }
        connection = try Connection(path: path)
        for setting in ["journal_mode = OFF", "synchronous = OFF", "temp_store = MEMORY", "cache_size = -4000"] {
            try connection.execute("PRAGMA \(setting)")
        }
        try connection.execute(sql.table)
    }

    func add(_ rows: [ListRow]) async throws(StoreError) {
        try await store.read { [self] _ in
            try connection.execute("BEGIN")
            let insert = try connection.statement(sql.insert)
            for row in rows {
                insert.reset()
                try insert.bind(
                    [
                        .text(String(decoding: row.item, as: UTF8.self)), .integer(count), .blob(row.item),
                        .blob(row.uri), .blob(row.etag),
                    ] + sql.values)
                while try insert.step() {}
                count += 1
            }
            insert.reset()
            try connection.execute("COMMIT")
        }
    }

    func next(_ limit: Int) async throws(StoreError) -> [ListRow] {
        try await store.read { [self] _ in
            let statement = try rows ?? connection.statement(sql.select)
            rows = statement
            var found: [ListRow] = []
            while found.count < limit, !isAtEnd {
                if try statement.step() {
                    found.append(ListRow(item: statement.blob(0), uri: statement.blob(1), etag: statement.blob(2)))
                } else {
                    isAtEnd = true
                }
            }
            return found
        }
    }

    func rewind() async throws(StoreError) {
        try await store.read { [self] _ in
            rows?.reset()
            rows = nil
            isAtEnd = false
        }
    }
}

/// A query as SQL. Paths and values are parameters; nothing of the request becomes SQL text.
///
/// Parameters of `insert`: 1 the member as JSON, 2 its place in the list, 3 to 5 its columns, then `values`.
struct MemberSQL {
    let table: String
    let insert: String
    let select: String
    private(set) var values: [SQLValue] = []

    init(_ query: MemberQuery) {
        var values: [SQLValue] = []
        func parameter(_ value: SQLValue) -> String {
            values.append(value)
            return "?\(values.count + 5)"
        }
        /// The value at a path as JSON; NULL where there is none.
        func expression(_ pointer: JSONPointer) -> String {
            let paths = Self.paths(pointer).map { "?1 -> \(parameter(.text($0)))" }
            return paths.count == 1 ? paths[0] : "COALESCE(\(paths.joined(separator: ", ")))"
        }
        var columns: [String] = []
        var conditions: [String] = []
        for term in query.terms {
            columns.append("\(expression(term.path)) AS v\(columns.count)")
            conditions.append(Self.condition(term, of: "v\(columns.count - 1)", parameter))
        }
        var ranks: [String] = []
        for key in query.keys {
            columns.append("\(expression(key.path)) AS v\(columns.count)")
            let name = "v\(columns.count - 1)"
            ranks.append(Self.rank(of: name))
            ranks.append("CASE WHEN \(Self.rank(of: name)) < 3 THEN \(name) ->> '$' END")
        }
        let order = query.keys.enumerated().flatMap { ["r\($0)", "k\($0)" + ($1.isDescending ? " DESC" : "")] } + ["n"]
        let names = query.keys.indices.flatMap { ["r\($0)", "k\($0)"] } + ["n", "item", "uri", "etag"]
        table = """
            CREATE TABLE members(\(names.joined(separator: ", ")), PRIMARY KEY(\(order.joined(separator: ", "))))
            """
        let source = columns.isEmpty ? "" : " FROM (SELECT \(columns.joined(separator: ", ")))"
        let filter = conditions.isEmpty ? "" : " WHERE \(conditions.joined(separator: " AND "))"
        insert =
            "INSERT INTO members SELECT \((ranks + ["?2", "?3", "?4", "?5"]).joined(separator: ", "))\(source)\(filter)"
        select = "SELECT item, uri, etag FROM members ORDER BY \(order.joined(separator: ", "))"
        self.values = values
    }

    /// A pointer as SQLite's paths: a number in it may be a place in an array or a name.
    private static func paths(_ pointer: JSONPointer) -> [String] {
        pointer.tokens.reduce(["$"]) { paths, token in
            let isNumber = token.utf8.allSatisfy { $0 &- 0x30 < 10 }
            return paths.flatMap { path in
                isNumber ? ["\(path)[\(token)]", "\(path).\"\(token)\""] : ["\(path).\"\(token)\""]
            }
        }
    }

    private static func condition(
        _ term: MemberQuery.Term, of name: String, _ parameter: (SQLValue) -> String
    ) -> String {
        func typed(_ types: String, _ value: SQLValue) -> String {
            "json_type(\(name)) IN (\(types)) AND \(name) ->> '$' \(term.comparison.rawValue) \(parameter(value))"
        }
        switch term.value {
        case .string(let text): return typed("'text'", .text(text))
        case .number(let text):
            let number = term.value.int.map { SQLValue.integer(Int64($0)) } ?? .real(Double(text) ?? .nan)
            return typed("'integer', 'real'", number)
        case .bool(let flag): return typed("'true', 'false'", .integer(flag ? 1 : 0))
        case .null, .array, .object:
            return term.comparison == .equal ? "json_type(\(name)) = 'null'" : "json_type(\(name)) <> 'null'"
        }
    }

    private static func rank(of name: String) -> String {
        """
        CASE json_type(\(name)) WHEN 'integer' THEN 0 WHEN 'real' THEN 0 WHEN 'text' THEN 1 WHEN 'true' THEN 2 \
        WHEN 'false' THEN 2 ELSE 3 END
        """
    }
}
