/// Takes log records. Messages are constant texts; what varies goes into `values`. Never secrets. Callable from any thread.
package protocol Log: Sendable {
    func write(_ level: LogLevel, _ message: StaticString, _ values: [(String, String)])
    /// Whether records of the level are kept: what says no need not be made.
    func keeps(_ level: LogLevel) -> Bool
}

extension Log {
    package func keeps(_ level: LogLevel) -> Bool { true }
}

package enum LogLevel: String, Sendable, Comparable {
    case debug, info, warning, error

    package static func < (one: LogLevel, other: LogLevel) -> Bool { one.rank < other.rank }
    private var rank: Int {
        switch self {
        case .debug: 0
        case .info: 1
        case .warning: 2
        case .error: 3
        }
    }
}
