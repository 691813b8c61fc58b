import HTTPModel
import Testing

@testable import CacheCore

/// Of a lane of ten thousand each question is asked fifty thousand times: one that walks along the lane takes minutes then.
@Suite("Long lanes", .timeLimit(.minutes(1)))
struct LongLaneTests {
    private static let rounds = 50_000
    private static let target = Target(unchecked: "/log")
    private let lane = EntryKey(partition: .none, target: target)

    private func operation(_ sequence: Int64, _ kind: OperationKind) -> Operation {
        let id = OperationID("01ARZ3NDEKTSV4RRF\(100_000_000 + sequence)")
        return Operation(
            id: id, sequence: sequence, kind: kind, method: kind == .action ? .post : .put, partition: .none,
            target: Self.target, fields: [:], body: nil, effective: nil, effectiveType: nil, tag: IDs.tag(of: id),
            precondition: .none, preconditionIsClients: false, base: .unknown,
            idempotencyKey: IDs.idempotencyKey(of: id), fingerprint: Digest(bytes: [1]), policy: Policy(), createdAt: 1)
    }

    private func book(_ operations: [Operation]) -> LaneBook {
        LaneBook(QueueImage(operations: operations, conflicts: [], aliases: [], lastSequence: 0))
    }

    private var actions: [Operation] { (2...10_001).map { operation($0, .action) } }

    @Test("actions are not walked past in the search for edits")
    func edits() {
        let edit = operation(1, .edit)
        let lane = lane
        let mixed = book([edit] + actions)
        let alone = book(actions)
        let last = actions[9_999]
        var found = 0
        for _ in 0..<Self.rounds {
            if mixed.localEdit(of: lane)?.operation == edit.id { found += 1 }
            if alone.localEdit(of: lane) == nil { found += 1 }
            if mixed.nextEdit(after: edit) == nil { found += 1 }
            if mixed.lastEdit(before: last)?.id == edit.id { found += 1 }
        }
        #expect(found == 4 * Self.rounds)
    }

    @Test("what is behind an operation costs no more than that is long")
    func later() {
        let actions = actions
        let book = book(actions)
        var found = 0
        for _ in 0..<Self.rounds { found += book.later(than: actions[9_998]).count }
        #expect(found == Self.rounds)
    }

    @Test("the newest of a lane goes without a walk along it")
    func newest() {
        let actions = actions
        var book = book(actions)
        for _ in 0..<Self.rounds {
            book.forget(actions[9_999])
            _ = book.apply([.putOperation(actions[9_999])])
        }
        #expect(book.lane(lane).map(\.id) == actions.map(\.id))
    }

    @Test("a credential that nothing waits for is not searched for")
    func credentials() {
        var book = book(actions)
        for _ in 0..<Self.rounds { book.credentialArrived(for: .none) }
        #expect(book.counts.pending == 10_000)
    }

    @Test("edits are found among actions in whatever order they come and go")
    func mixed() {
        var generator = SystemRandomNumberGenerator()
        var book = LaneBook()
        var expected: [Operation] = []
        for sequence in 1...150 as ClosedRange<Int64> {
            let new = operation(sequence, Bool.random(using: &generator) ? .action : .edit)
            expected.append(new)
            _ = book.apply([.putOperation(new)])
            if Int.random(in: 0..<3, using: &generator) > 0, let index = expected.indices.randomElement() {
                var ended = expected.remove(at: index)
                ended.state = .delivered
                _ = book.apply([.putOperation(ended)])
            }
            let edits = expected.filter { $0.kind == .edit }
            #expect(book.lastEdit(of: lane)?.id == edits.last?.id)
            #expect(book.lastEdit(of: lane, but: edits.last?.id)?.id == edits.dropLast().last?.id)
            for one in expected {
                #expect(book.nextEdit(after: one)?.id == edits.first { one.precedes($0) }?.id)
                #expect(book.lastEdit(before: one)?.id == edits.last { $0.precedes(one) }?.id)
            }
        }
        #expect((book.editsAmongActions[lane] != nil) == expected.contains { $0.kind == .action })
    }
}
