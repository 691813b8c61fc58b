package import CacheCore

/// Names one row that both sides of a mirrored store have. Texts compare by bytes.
struct RecordName: Hashable, Sendable {
    enum Kind: Int64, Sendable { case entry, operation, conflict, keyRecord, alias }

    let kind: Kind
    /// Where the kind has one.
    let partition: PartitionID
    let text: String

    init(_ kind: Kind, _ text: String, of partition: PartitionID = .none) {
        self.kind = kind
        self.partition = partition
        self.text = text
    }

    init(_ key: EntryKey) { self.init(.entry, key.target.text, of: key.partition) }

    static func == (one: RecordName, other: RecordName) -> Bool {
        one.kind == other.kind && one.partition == other.partition && one.text.utf8.elementsEqual(other.text.utf8)
    }

    /// The entry that it names; nil for other kinds.
    var key: EntryKey? { kind == .entry ? EntryKey(partition: partition, target: Target(unchecked: text)) : nil }
}

/// What one side has under a name, and the counter of the commit that brought it: 0 where nobody counted.
struct MirrorRecord: Sendable {
    enum Value: Sendable, Hashable {
        case entry(Entry)
        case operation(Operation)
        case conflict(Conflict)
        case keyRecord(KeyRecord)
        case alias(TargetAlias)
        /// Removed, or never there.
        case gone
    }

    let name: RecordName
    var counter: Int64
    var value: Value

    /// Every body that it refers to.
    var contents: [Content] {
        switch value {
        case .entry(let entry): entry.contents
        case .operation(let operation): operation.contents
        case .conflict(let conflict): conflict.contents
        case .keyRecord(let record): record.contents
        case .alias, .gone: []
        }
    }

    /// Whether it takes the place of what the other side has. Entries are reconciled; of the rest nothing goes because of its age:
    /// what is final stays so, and a version of the same record gives way to a later one.
    func replaces(_ there: MirrorRecord, winsTies: Bool, by rule: any Reconciling) -> Bool {
        if counter == there.counter, value == there.value { return false }
        // Who has never heard of a name knows nothing against it.
        if counter == 0, value == .gone { return false }
        if there.counter == 0, there.value == .gone { return true }
        switch (value, there.value) {
        case (.operation(let one), .operation(let other)) where one.state.isFinal != other.state.isFinal:
            return one.state.isFinal
        case (.conflict(let one), .conflict(let other)): return one.revision > other.revision
        case (.gone, .operation), (.gone, .conflict): return false
        case (.operation, .gone), (.conflict, .gone): return true
        default:
            let (mine, theirs) = (Version(self), Version(there))
            let winner =
                winsTies ? rule.reconcile(primary: mine, mirror: theirs) : rule.reconcile(primary: theirs, mirror: mine)
            return winner == (winsTies ? .primary : .mirror)
        }
    }
}

/// A side's version of an entry, as reconciling looks at it.
package struct Version: Sendable {
    package var counter: Int64
    /// A removed one is a version like any other.
    package var isGone: Bool

    init(_ record: MirrorRecord) {
        counter = record.counter
        isGone = record.value == .gone
    }
}

/// Which of two versions of an entry holds (design 11, "reconciled").
package protocol Reconciling: Sendable {
    func reconcile(primary: Version, mirror: Version) -> StoreSide
}

/// The newest commit, by the counter that both sides go on with; the primary's of two that nobody can order.
package struct NewestCommitWins: Reconciling {
    package init() {}

    package func reconcile(primary: Version, mirror: Version) -> StoreSide {
        mirror.counter > primary.counter ? .mirror : .primary
    }
}
