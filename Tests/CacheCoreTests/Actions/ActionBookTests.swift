import CacheCore
import Testing

@Suite struct `The book of actions` {
    private var book = ActionBook()

    private static func action(_ id: String, _ stores: [String] = [], _ request: ActionRequest = .save) -> Action {
        Action(
            id: id, request: request, partition: .none, partitions: nil, stores: stores.isEmpty ? [id] : stores,
            createdAt: 1)
    }

    private static let refresh = ActionRequest.refresh(PathPattern("/**"))

    private mutating func add(_ ids: [String]) { for id in ids { book.add(Self.action(id)) } }

    private mutating func advance(isOnline: Bool = true, at now: Double = 10) -> [String] {
        book.advance(at: now) { isOnline || !$0.needsOrigin }.filter { $0.state == .executing }.map(\.id)
    }

    @Test mutating func `Five run at once, and the next one when one of them has ended`() {
        add(["a", "b", "c", "d", "e", "f", "g"])
        #expect(advance() == ["a", "b", "c", "d", "e"])
        #expect(book["f"]?.state == .pending)
        #expect(advance().isEmpty)
        _ = book.end("c", .done, at: 11)
        #expect(advance() == ["f"])
    }

    @Test mutating func `One without a credential waits for it, and those behind it pass`() {
        book.add(Self.action("a", ["x"]))
        book.add(Self.action("b", ["x"]))
        #expect(advance() == ["a"])
        #expect(book.end("a", .withoutCredential, at: 11)?.reason == Reason.credential)
        #expect(advance() == ["b"])
        _ = book.end("b", .done, at: 12)
        #expect(advance().isEmpty)
        #expect(book.credentialArrived(for: PartitionID(high: 1, low: 1)).isEmpty)
        #expect(book.credentialArrived(for: .none).map(\.id) == ["a"])
        #expect(advance() == ["a"])
    }

    @Test mutating func `Those of one store run one after the other, in order`() {
        book.add(Self.action("a", ["x"]))
        book.add(Self.action("b", ["x", "y"]))
        book.add(Self.action("c", ["y"]))
        book.add(Self.action("d", ["z"]))
        #expect(advance() == ["a", "d"])
        _ = book.end("a", .done, at: 11)
        #expect(advance() == ["b"])
        _ = book.end("b", .failed(ActionProblem(.offline, "")), at: 12)
        #expect(advance() == ["c"])
    }

    @Test mutating func `One that waits for the origin is passed by those behind it`() {
        book.add(Self.action("a", ["x"], Self.refresh))
        book.add(Self.action("b", ["x"]))
        #expect(advance(isOnline: false) == ["b"])
        #expect(book["a"]?.state == .pending)
        #expect(advance().isEmpty)
        _ = book.end("b", .done, at: 11)
        #expect(advance() == ["a"])
    }

    @Test mutating func `One that waits is canceled and finished at once, and never begins`() {
        add(["a"])
        #expect(book.cancel("a", at: 3)?.state == .finished)
        #expect(book["a"]?.completion == .canceled)
        #expect(book["a"]?.finishedAt == 3)
        #expect(advance().isEmpty)
        #expect(book["a"]?.starts == 0)
    }

    @Test(arguments: [ActionOutcome.done, .stopped, .failed(ActionProblem(.offline, "away"))])
    mutating func `Canceled stays canceled, whatever the work makes of it`(outcome: ActionOutcome) {
        add(["a"])
        _ = advance()
        #expect(book.cancel("a", at: 11)?.state == .executing)
        #expect(book["a"]?.completion == .canceled)
        #expect(book.end("a", outcome, at: 12)?.state == .finished)
        #expect(book["a"]?.completion == .canceled)
    }

    @Test mutating func `A second cancel, and one of a finished action, change nothing`() {
        add(["a"])
        _ = advance()
        _ = book.end("a", .done, at: 11)
        #expect(book.cancel("a", at: 12)?.completion == .successful)
        #expect(book["a"]?.finishedAt == 11)
        #expect(book.cancel("none", at: 12) == nil)
    }

    @Test mutating func `One that was stopped waits and begins again with its progress and its time`() {
        add(["a"])
        _ = advance(at: 10)
        _ = book.note("a") { $0.done = 3 }
        #expect(book.end("a", .stopped, at: 12)?.state == .pending)
        #expect(book.note("a") { $0.done = 9 } == nil)
        #expect(advance(at: 20) == ["a"])
        #expect(book["a"]?.progress.done == 3)
        #expect(book["a"]?.starts == 2)
        let ended = book.end("a", .done, at: 21)
        #expect(ended?.executionTime == 3)
        #expect(ended?.startedAt == 10)
        #expect(ended?.completion == .successful)
    }

    @Test mutating func `What an earlier start has left waits again; what was canceled there is finished`() {
        var running = Self.action("a"), canceled = Self.action("b"), waiting = Self.action("c")
        running.state = .executing
        (canceled.state, canceled.completion) = (.executing, .canceled)
        waiting.state = .pending
        for action in [running, canceled, waiting] { book.restore(action, at: 5) }
        #expect(book["a"]?.state == .pending)
        #expect(book.finished.map(\.id) == ["b"])
        #expect(advance() == ["a", "c"])
    }

    @Test mutating func `What was asked for before the earlier ones were read is there once`() {
        add(["a"])
        _ = advance()
        book.restore(Self.action("a"), at: 5)
        #expect(book.executing.count == 1)
        #expect(advance().isEmpty)
    }

    @Test mutating func `The book is full with as many as may be unfinished`() {
        for number in 0..<ActionBook.capacity { book.add(Self.action("\(number)")) }
        #expect(book.isFull)
        _ = book.cancel("7", at: 1)
        #expect(!book.isFull)
        book.remove("7")
        book.remove("8")
        #expect(book["7"] == nil)
        #expect(book["8"] != nil)
    }
}
