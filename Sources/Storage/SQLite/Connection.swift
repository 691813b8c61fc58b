import CSQLite

/// One SQLite connection with its prepared statements. Used by one thread at a time.
@safe final class Connection {
    private let handle: OpaquePointer
    private var statements: [String: Statement] = [:]

    /// Nobody asks how much memory SQLite has; to know it takes a lock of the whole process with each allocation.
    private static let leavesOutStatistics: Void = holdfast_leave_out_statistics()

    /// Opens or creates the database at `path`.
    init(path: String, readOnly: Bool = false) throws(SQLiteError) {
        _ = Self.leavesOutStatistics
        var handle: OpaquePointer?
        let flags =
            (readOnly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE) | SQLITE_OPEN_NOMUTEX
            | SQLITE_OPEN_EXRESCODE
        let code = unsafe sqlite3_open_v2(path, &handle, flags, nil)
        guard code == SQLITE_OK, let handle = unsafe handle else {
            let message = unsafe handle.map { unsafe String(cString: sqlite3_errmsg($0)) } ?? "no memory"
            unsafe sqlite3_close_v2(handle)
            throw SQLiteError(code: ResultCode(rawValue: code), message: message)
        }
        unsafe self.handle = handle
        unsafe sqlite3_busy_timeout(handle, 5_000)
    }

    deinit {
        statements = [:]
        unsafe sqlite3_close_v2(handle)
    }

    /// Runs statements that return nothing that is needed.
    func execute(_ sql: String) throws(SQLiteError) {
        try check(unsafe sqlite3_exec(handle, sql, nil, nil, nil))
    }

    /// The statement for `sql`, prepared once. It is reset and without values; one use at a time.
    func statement(_ sql: String) throws(SQLiteError) -> Statement {
        if let known = statements[sql] {
            known.reset()
            return known
        }
        var prepared: OpaquePointer?
        try check(
            unsafe sqlite3_prepare_v3(handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &prepared, nil))
        guard let prepared = unsafe prepared else {
            throw SQLiteError(code: ResultCode(rawValue: SQLITE_MISUSE), message: "an empty statement")
        }
        let statement = unsafe Statement(prepared)
        statements[sql] = statement
        return statement
    }

    /// Runs a statement with values.
    func run(_ sql: String, _ values: SQLValue...) throws(SQLiteError) {
        let statement = try statement(sql)
        try statement.bind(values)
        while try statement.step() {}
        statement.reset()
    }

    /// The first column of the first row as an integer.
    func integer(_ sql: String) throws(SQLiteError) -> Int64? {
        let statement = try statement(sql)
        defer { statement.reset() }
        return try statement.step() ? statement.integer(0) : nil
    }

    /// Whether a transaction is open.
    var isInTransaction: Bool { unsafe sqlite3_get_autocommit(handle) == 0 }

    private func check(_ code: Int32) throws(SQLiteError) {
        guard code == SQLITE_OK else {
            throw SQLiteError(
                code: ResultCode(rawValue: code), message: unsafe String(cString: sqlite3_errmsg(handle)))
        }
    }
}
