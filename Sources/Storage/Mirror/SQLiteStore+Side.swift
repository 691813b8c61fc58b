import CacheCore
import Synchronization

/// Counts commits of both sides: one more than the highest that was ever seen on either.
final class CommitCounter: Sendable {
    private let highest = Mutex<Int64>(0)

    func next() -> Int64 {
        highest.withLock { highest in
            highest += 1
            return highest
        }
    }

    func raise(to seen: Int64) { highest.withLock { $0 = max($0, seen) } }
}

/// What a job on the writer's thread hands back.
private final class Outcome<Value: Sendable>: Sendable {
    private let value: Mutex<Value>
    init(_ value: Value) { self.value = Mutex(value) }
    func set(_ new: Value) { value.withLock { $0 = new } }
    var current: Value { value.withLock { $0 } }
}

/// A store as one side of a mirrored one.
extension SQLiteStore {
    var side: StoreSide { shared.options.sharing == .primary ? .primary : .mirror }

    /// Commits the changes under the next count; what they left. Where other processes share the side, `seen` has the states in
    /// which their maker knew the operations: throws `outdated` where they are others by now.
    func track(
        _ changes: [StoreChange], durable: Bool, updatesView: Bool, count: CommitCounter, by writer: Int64,
        seen: [OperationID: OperationState] = [:]
    ) async throws(StoreError) -> [MirrorRecord] {
        let outcome = Outcome<[MirrorRecord]>([])
        try await write(
            .tracked(changes) { transaction in
                try transaction.check(changes, against: seen)
                try transaction.apply(changes)
                outcome.set(try transaction.stamp(count.next(), by: writer))
            }, durable: durable, updatesView: updatesView)
        return outcome.current
    }

    /// Takes what the other side has, where it replaces what is here: the names of what was taken. `isOutcome`: throws `outdated`
    /// where what is here is final and what comes is not. `mending`: what is damaged here, and makes way in any case.
    func take(
        _ records: [MirrorRecord], winsTies: Bool, by writer: Int64, rule: any Reconciling, durable: Bool,
        isOutcome: Bool = false, mending damaged: Set<RecordName> = []
    ) async throws(StoreError) -> [RecordName] {
        let outcome = Outcome<[RecordName]>([])
        let body: @Sendable (inout StoreTransaction) throws -> Void = { transaction in
            if isOutcome { try transaction.checkFinal(records) }
            outcome.set(
                try transaction.take(records, winsTies: winsTies, by: writer, rule: rule, mending: damaged))
        }
        let operations = records.compactMap { record in
            if case .operation(let operation) = record.value { StoreChange.putOperation(operation) } else { nil }
        }
        try await write(operations.isEmpty ? .other(body) : .tracked(operations, body), durable: durable)
        return outcome.current
    }

    /// Takes over the key of the other side's partitions, for the next opening; false where that can't be done, because something here
    /// belongs to an identity, or other processes work with the key that there is.
    func take(partitionKeyOf other: SQLiteStore) async -> Bool {
        guard isAlone else { return false }
        let key = other.partitionKey
        let outcome = Outcome(false)
        do throws(StoreError) {
            try await write(.other { outcome.set(try $0.take(partitionKey: key)) }, durable: true)
        } catch { return false }
        return outcome.current
    }

    /// What is here under the names, bodies held as far as they are here.
    func records(_ names: [RecordName]) async throws(StoreError) -> [MirrorRecord] {
        let found = try await read { [shared] connection in
            let counter = "SELECT counter FROM stamps WHERE kind = ? AND partition = ? AND name = ?"
            return try names.map { name in
                let row = try connection.statement(counter)
                try row.bind([.integer(name.kind.rawValue), .text(name.partition.text), .text(name.text)])
                let count = try row.step() ? row.integer(0) : 0
                row.reset()
                let unfinished =
                    name.kind == .operation
                    ? shared.memory.state.withLock { $0.operations[OperationID(name.text)]?.operation } : nil
                return MirrorRecord(
                    name: name, counter: count,
                    value: try unfinished.map { MirrorRecord.Value.operation($0) }
                        ?? StampedRows.value(of: name, connection))
            }
        }
        return found.map { record in
            guard case .entry(let entry) = record.value, let held = held(entry) else { return record }
            return MirrorRecord(name: record.name, counter: record.counter, value: .entry(held))
        }
    }

    /// What others than `writer` have brought after an arrival, in order.
    func arrivals(
        after arrival: Int64, notBy writer: Int64
    ) async throws(StoreError) -> [(name: RecordName, arrival: Int64)] {
        try await rows(
            "SELECT kind, partition, name, arrival FROM stamps WHERE arrival > ? AND writer <> ? ORDER BY arrival",
            [.integer(arrival), .integer(writer)]
        ) { (name: try StampedRows.name($0), arrival: $0.integer(3)) }
    }

    /// The highest count, and the last arrival.
    func newestStamps() async throws(StoreError) -> (count: Int64, arrival: Int64) {
        let newest = try await rows("SELECT coalesce(max(counter), 0), coalesce(max(arrival), 0) FROM stamps", []) {
            (count: $0.integer(0), arrival: $0.integer(1))
        }
        return newest[0]
    }

    /// Names of a kind in their order, those of what is gone too.
    func names(_ kind: RecordName.Kind, after: RecordName?, limit: Int) async throws(StoreError) -> [RecordName] {
        let isAfter = after == nil ? ">=" : ">"
        let (partition, name, table): (String, String, String) =
            switch kind {
            case .entry: ("partition", "target", "entries")
            case .operation: ("''", "id", "finished")
            case .conflict: ("''", "id", "conflicts")
            case .keyRecord: ("partition", "key", "key_records")
            case .alias: ("partition", "temporary", "aliases")
            }
        return try await rows(
            """
            SELECT ?1, a, b FROM (SELECT \(partition) a, \(name) b FROM \(table) WHERE (\(partition), \(name)) \(isAfter) (?2, ?3)
                ORDER BY 1, 2 LIMIT ?4)
            UNION SELECT ?1, a, b FROM (SELECT partition a, name b FROM stamps
                WHERE kind = ?1 AND (partition, name) \(isAfter) (?2, ?3) ORDER BY 1, 2 LIMIT ?4)
            ORDER BY 2, 3 LIMIT ?4
            """,
            [
                .integer(kind.rawValue), .text(after?.partition.text ?? ""), .text(after?.text ?? ""),
                .integer(Int64(limit)),
            ]
        ) { try StampedRows.name($0) }
    }

    /// Takes note of what other processes have committed.
    func look() async throws(StoreError) { try await write(.look, durable: false) }

    /// Names of unfinished operations.
    var unfinishedNames: [RecordName] {
        shared.memory.state.withLock { $0.operations.keys.map { RecordName(.operation, $0.text) } }
    }

    var isSending: Bool {
        shared.memory.state.withLock { $0.operations.values.contains { $0.operation.state == .sending } }
    }

    /// Whether the database still lies where it was opened: a folder that was removed, or another in its place, would take
    /// commits that nobody finds again.
    var isInPlace: Bool { identity != nil && shared.files.identity == identity }

    /// Copies the bodies that the records refer to and this side lacks; they stay while `contents` lives. `whole`: the records that
    /// this side can take now, without those of which a body is damaged or missing on the other side too.
    func bring(
        _ records: [MirrorRecord], from other: SQLiteStore
    ) async throws(StoreError) -> (contents: [Content], whole: [MirrorRecord]) {
        var brought: [Content] = []
        var whole: [MirrorRecord] = []
        for record in records {
            do throws(StoreError) {
                for content in record.contents where !holds(content) {
                    // What a row here refers to already needs no file to be referred to again.
                    if !other.holds(content), try await self.records([record.name])[0].contents.contains(content) {
                        continue
                    }
                    brought.append(try await bring(content, from: other))
                }
                whole.append(record)
            } catch {
                guard case .side(_, .corrupt) = error else { throw error }
                shared.log.write(.error, "a record is not copied: a body is damaged", [("name", record.name.text)])
            }
        }
        return (brought, whole)
    }

    /// Copies one body, whether or not this side has it. Throws `side` where the other one can't be read.
    func bring(_ content: Content, from other: SQLiteStore) async throws(StoreError) -> Content {
        let source: any BodySource
        do throws(StoreError) { source = try await other.read(content, range: nil) } catch {
            throw error.at(other.side)
        }
        let writer = try await makeBody(for: .operation, length: content.length)
        do throws(StoreError) {
            while let piece = try await other.next(of: source) { try await writer.append(piece) }
            return try await writer.finish()
        } catch {
            writer.discard()
            throw error
        }
    }

    private func next(of source: any BodySource) async throws(StoreError) -> [UInt8]? {
        do { return try await source.next() } catch {
            throw (error as? StoreError ?? .failed(reason: "a body can't be read")).at(side)
        }
    }
}

extension StoreTransaction {
    /// Throws `outdated` where an operation is final here that the records have as unfinished: another process was first.
    fileprivate func checkFinal(_ records: [MirrorRecord]) throws {
        for record in records {
            guard case .operation(let operation) = record.value, !operation.state.isFinal,
                case .operation(let there) = try self.record(record.name).value, there.state.isFinal
            else { continue }
            throw StoreError.outdated
        }
    }
}
