package import CacheCore
import Glibc
import HTTPModel

/// Writes one JSON object a line to descriptor 2, in one write, so that lines of several threads don't mix.
package struct StderrLog: Log {
    /// Records below are dropped.
    private let threshold: LogLevel
    private let clock: SystemClock

    package init(threshold: LogLevel = .info) {
        self.threshold = threshold
        self.clock = SystemClock()
    }

    package func keeps(_ level: LogLevel) -> Bool { level >= threshold }

    package func write(_ level: LogLevel, _ message: StaticString, _ values: [(String, String)]) {
        guard keeps(level) else { return }
        var members = [
            JSONMember("at", .string(Timestamp.format(clock.now))),
            JSONMember("level", .string(level.rawValue)),
            JSONMember("message", .string("\(message)")),
        ]
        members += values.map { JSONMember($0.0, .string($0.1)) }
        var line = JSONValue.object(members).bytes
        line.append(UInt8(ascii: "\n"))
        _ = line.withUnsafeBytes { Glibc.write(2, $0.baseAddress, $0.count) }
    }
}
