import CacheCore
import Synchronization

/// A selection over arrays: what the port means, without SQLite.
final class MemorySelection: MemberSelection {
    private struct State {
        var rows: [(row: ListRow, keys: [SortValue])] = []
        var position: Int?
    }

    private struct SortValue {
        var rank: Int
        var value: JSONValue?
    }

    private let query: MemberQuery
    private let state = Mutex(State())

    init(_ query: MemberQuery) { self.query = query }

    func add(_ rows: [ListRow]) async throws(StoreError) {
        for row in rows {
            guard let member = try? JSONValue(parsing: row.item) else { throw .failed(reason: "a member is no JSON") }
            guard query.terms.allSatisfy({ Self.holds($0, for: member) }) else { continue }
            let keys = query.keys.map { Self.sortValue($0.path.value(in: member)) }
            state.withLock { $0.rows.append((row, keys)) }
        }
    }

    func next(_ limit: Int) async throws(StoreError) -> [ListRow] {
        state.withLock { state in
            if state.position == nil {
                let ordered = state.rows.enumerated().sorted { isBefore($0, $1) }
                state.rows = ordered.map(\.element)
            }
            let start = state.position ?? 0
            let rows = state.rows[start...].prefix(limit).map(\.row)
            state.position = start + rows.count
            return rows
        }
    }

    func rewind() async throws(StoreError) { state.withLock { $0.position = 0 } }

    private func isBefore(
        _ one: (offset: Int, element: (row: ListRow, keys: [SortValue])),
        _ other: (offset: Int, element: (row: ListRow, keys: [SortValue]))
    ) -> Bool {
        for (index, key) in query.keys.enumerated() {
            let (first, second) = (one.element.keys[index], other.element.keys[index])
            if first.rank != second.rank { return first.rank < second.rank }
            guard let a = first.value, let b = second.value else { continue }
            let order = Self.order(a, b)
            if order != 0 { return key.isDescending ? order > 0 : order < 0 }
        }
        return one.offset < other.offset
    }

    private static func sortValue(_ value: JSONValue?) -> SortValue {
        switch value {
        case .number: SortValue(rank: 0, value: value)
        case .string: SortValue(rank: 1, value: value)
        case .bool: SortValue(rank: 2, value: value)
        default: SortValue(rank: 3)
        }
    }

    /// Negative, zero or positive; of two values of one type.
    private static func order(_ one: JSONValue, _ other: JSONValue) -> Int {
        switch (one, other) {
        case (.number(let a), .number(let b)):
            guard let a = JSONDecimal(a), let b = JSONDecimal(b) else { return 0 }
            return a < b ? -1 : b < a ? 1 : 0
        case (.string(let a), .string(let b)):
            return a.utf8.lexicographicallyPrecedes(b.utf8) ? -1 : b.utf8.lexicographicallyPrecedes(a.utf8) ? 1 : 0
        case (.bool(let a), .bool(let b)): return (a ? 1 : 0) - (b ? 1 : 0)
        default: return 0
        }
    }

    private static func holds(_ term: MemberQuery.Term, for member: JSONValue) -> Bool {
        guard let value = term.path.value(in: member) else { return false }
        if term.value.isNull { return value.isNull == (term.comparison == .equal) }
        guard sortValue(value).rank == sortValue(term.value).rank else { return false }
        let order = order(value, term.value)
        return switch term.comparison {
        case .equal: order == 0
        case .notEqual: order != 0
        case .less: order < 0
        case .lessOrEqual: order <= 0
        case .greater: order > 0
        case .greaterOrEqual: order >= 0
        }
    }
}
