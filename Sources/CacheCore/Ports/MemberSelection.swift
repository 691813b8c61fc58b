/// Members of one list on their way through a query. One caller at a time; gone with the last reference.
package protocol MemberSelection: Sendable {
    /// Adds rows in the list's order: those for which every term holds are kept. Not after the first `next`.
    func add(_ rows: [ListRow]) async throws(StoreError)
    /// The next rows in the order that was asked for, `limit` at most; empty at the end.
    func next(_ limit: Int) async throws(StoreError) -> [ListRow]
    /// Goes back to the first row.
    func rewind() async throws(StoreError)
}
