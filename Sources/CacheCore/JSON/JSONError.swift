/// Why a text is not JSON, and where.
package struct JSONError: Error, Sendable, Hashable, CustomStringConvertible {
    /// Index of the byte at which reading stopped.
    package var offset: Int
    /// From 1.
    package var line: Int
    /// In bytes, from 1.
    package var column: Int
    /// What was wrong, e.g. `a value is missing`.
    package var reason: String

    package init(offset: Int, line: Int, column: Int, reason: String) {
        self.offset = offset
        self.line = line
        self.column = column
        self.reason = reason
    }

    /// For people, e.g. `line 2, column 5: a value is missing`.
    package var description: String { "line \(line), column \(column): \(reason)" }
}
