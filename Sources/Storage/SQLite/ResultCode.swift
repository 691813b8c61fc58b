import CSQLite
import CacheCore

/// What a SQLite call answered; extended codes keep their detail.
struct ResultCode: RawRepresentable, Hashable, Sendable {
    let rawValue: Int32

    /// Without the extension.
    var primary: Int32 { rawValue & 0xFF }
    var isFull: Bool { primary == SQLITE_FULL }
    var isCorrupt: Bool { primary == SQLITE_CORRUPT || primary == SQLITE_NOTADB }
}

/// A SQLite call that failed.
struct SQLiteError: Error, Sendable {
    let code: ResultCode
    let message: String

    /// The same for who uses the store.
    var storeError: StoreError {
        if code.isFull { return .full }
        if code.isCorrupt { return .corrupt(reason: "SQLite \(code.rawValue): \(message)") }
        return .failed(reason: "SQLite \(code.rawValue): \(message)")
    }
}
