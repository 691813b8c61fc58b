import CSQLite

/// A value for a parameter.
enum SQLValue: Sendable {
    case null
    case integer(Int64)
    case real(Double)
    case text(String)
    case blob([UInt8])

    init(_ text: String?) { self = text.map { .text($0) } ?? .null }
    init(_ real: Double?) { self = real.map { .real($0) } ?? .null }
}

/// A prepared statement. Belongs to its connection's thread.
@safe final class Statement {
    private let handle: OpaquePointer

    init(_ handle: OpaquePointer) { unsafe self.handle = handle }
    deinit { unsafe sqlite3_finalize(handle) }

    func bind(_ values: [SQLValue]) throws(SQLiteError) {
        for (index, value) in values.enumerated() {
            let place = Int32(index + 1)
            let code =
                switch value {
                case .null: unsafe sqlite3_bind_null(handle, place)
                case .integer(let integer): unsafe sqlite3_bind_int64(handle, place, integer)
                case .real(let real): unsafe sqlite3_bind_double(handle, place, real)
                case .text(let text):
                    unsafe text.withCString { unsafe holdfast_bind_text(handle, place, $0, Int32(text.utf8.count)) }
                case .blob(let bytes):
                    unsafe bytes.withUnsafeBytes { bytes in
                        unsafe holdfast_bind_blob(handle, place, bytes.baseAddress, Int32(bytes.count))
                    }
                }
            guard code == SQLITE_OK else { throw failure(code) }
        }
    }

    /// Goes to the next row; false at the end.
    func step() throws(SQLiteError) -> Bool {
        let code = unsafe sqlite3_step(handle)
        switch code {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        default:
            let error = failure(code)
            reset()
            throw error
        }
    }

    /// Ends the read that the statement holds, and forgets its values.
    func reset() {
        unsafe sqlite3_reset(handle)
        unsafe sqlite3_clear_bindings(handle)
    }

    func integer(_ column: Int32) -> Int64 { unsafe sqlite3_column_int64(handle, column) }
    func real(_ column: Int32) -> Double { unsafe sqlite3_column_double(handle, column) }
    func isNull(_ column: Int32) -> Bool { unsafe sqlite3_column_type(handle, column) == SQLITE_NULL }

    func text(_ column: Int32) -> String {
        let start = unsafe UnsafeRawPointer(sqlite3_column_text(handle, column))
        return String(decoding: unsafe bytes(of: column, from: start), as: UTF8.self)
    }

    func blob(_ column: Int32) -> [UInt8] {
        let start = unsafe sqlite3_column_blob(handle, column)
        return unsafe bytes(of: column, from: start)
    }

    /// All columns of the row.
    var values: [SQLValue] {
        let count = unsafe sqlite3_column_count(handle)
        return (0..<count).map { column in
            switch unsafe sqlite3_column_type(handle, column) {
            case SQLITE_NULL: .null
            case SQLITE_INTEGER: .integer(integer(column))
            case SQLITE_FLOAT: .real(real(column))
            case SQLITE_TEXT: .text(text(column))
            default: .blob(blob(column))
            }
        }
    }

    private func bytes(of column: Int32, from start: UnsafeRawPointer?) -> [UInt8] {
        guard let start = unsafe start else { return [] }
        let count = Int(unsafe sqlite3_column_bytes(handle, column))
        return unsafe Array(UnsafeRawBufferPointer(start: start, count: count))
    }

    private func failure(_ code: Int32) -> SQLiteError {
        let message = unsafe sqlite3_db_handle(handle).map { unsafe String(cString: sqlite3_errmsg($0)) } ?? ""
        return SQLiteError(code: ResultCode(rawValue: code), message: message)
    }
}
