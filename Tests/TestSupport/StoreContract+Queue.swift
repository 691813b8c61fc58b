import CacheCore
import HTTPModel

/// Operations, conflicts, key records, aliases, adoption.
extension StoreContract {
    static let queueRules = [
        StoreRule("The queue has what is unfinished, in order of sequence") { store in
            var finished = operation(2)
            finished.state = .delivered
            var failed = operation(1)
            failed.state = .failed
            for operation in [operation(4), operation(3), finished, failed] {
                try await store.commit([.putOperation(operation)], durable: true)
            }
            let queue = try await store.loadQueue()
            try require(queue.operations.map(\.sequence) == [1, 3, 4], "\(queue.operations.map(\.sequence))")
            try require(queue.lastSequence == 4, "last sequence \(queue.lastSequence)")
        },
        StoreRule("An operation is replaced by id and found by id, own key and merged key, finished too") { store in
            var operation = operation(1)
            try await store.commit([.putOperation(operation)], durable: true)
            operation.mergedKeys = ["other"]
            operation.attempts = 3
            for state in [OperationState.sending, .delivered] {
                operation.state = state
                if state.isFinal { operation.finishedAt = 1_700_000_000 }
                try await store.commit([.putOperation(operation)], durable: true)
                try require(try await store.operation(operation.id) == operation, "by id, \(state)")
                for key in ["key1", "other"] {
                    let found = try await store.operation(partition: .none, key: key)
                    try require(found == operation, "by \(key), \(state)")
                }
                try require(try await store.operation(partition: someone, key: "key1") == nil, "another partition's")
            }
            try require(try await store.loadQueue().operations.isEmpty, "it is still in the queue")
        },
        StoreRule("The newest operation of a key is found") { store in
            var old = operation(1)
            old.state = .cancelled
            old.finishedAt = 1_700_000_000
            var new = operation(2)
            new.idempotencyKey = "key1"
            try await store.commit([.putOperation(new), .putOperation(old)], durable: true)
            try require(try await store.operation(partition: .none, key: "key1") == new, "not the newest")
        },
        StoreRule("Lists of operations come in pages, by id, filtered by partition and state") { store in
            for number: Int64 in 1...7 {
                var operation = operation(number, number == 7 ? someone : .none)
                if number % 2 == 0 {
                    operation.state = .delivered
                    operation.finishedAt = 1_700_000_000
                }
                try await store.commit([.putOperation(operation)], durable: false)
            }
            var seen: [Int64] = []
            var after: String?
            repeat {
                let page = try await store.operations(partitions: [.none], states: nil, after: after, limit: 4)
                seen += page.items.map(\.sequence)
                after = page.next
            } while after != nil && seen.count < 20
            try require(seen == [1, 2, 3, 4, 5, 6], "\(seen)")
            let done = try await store.operations(partitions: nil, states: [.delivered], after: nil, limit: 9)
            try require(done.items.map(\.sequence) == [2, 4, 6], "\(done.items.map(\.sequence))")
        },
        StoreRule("Conflicts are replaced by id and listed open or closed") { store in
            var closed = conflict("b")
            try await store.commit(
                [.putConflict(conflict("a")), .putConflict(closed), .putConflict(conflict("c", someone))], durable: true
            )
            closed.closedAt = 1_700_000_000
            closed.revision = 2
            try await store.commit([.putConflict(closed)], durable: true)
            try require(try await store.conflict("b") == closed, "not replaced")
            try require(try await store.loadQueue().conflicts.map(\.id) == ["a", "c"], "the queue's")
            let open = try await store.conflicts(partitions: nil, open: true, after: nil, limit: 1)
            try require(open.items.map(\.id) == ["a"] && open.next == "a", "\(open)")
            let rest = try await store.conflicts(partitions: nil, open: true, after: "a", limit: 1)
            try require(rest.items.map(\.id) == ["c"] && rest.next == nil, "\(rest)")
            let old = try await store.conflicts(partitions: [.none], open: false, after: nil, limit: 9)
            try require(old.items == [closed], "\(old)")
        },
        StoreRule("Key records are kept by partition and key, replaced and removed") { store in
            var changed = record("k")
            try await store.commit([.putKeyRecord(changed), .putKeyRecord(record("k", someone))], durable: true)
            changed.answer = nil
            try await store.commit([.putKeyRecord(changed)], durable: true)
            try require(try await store.keyRecord(partition: .none, key: "k") == changed, "not replaced")
            try await store.commit([.removeKeyRecord(.none, key: "k")], durable: true)
            try require(try await store.keyRecord(partition: .none, key: "k") == nil, "not removed")
            try require(try await store.keyRecord(partition: someone, key: "k") != nil, "another's removed")
        },
        StoreRule("Aliases are in the queue's image, replaced by temporary target") { store in
            let temporary = Target(unchecked: "/t/hf-1")
            for real in [nil, Target(unchecked: "/t/1")] {
                let alias = TargetAlias(partition: .none, temporary: temporary, real: real)
                try await store.commit([.putAlias(alias)], durable: true)
                try require(try await store.loadQueue().aliases == [alias], "not \(alias)")
            }
        },
        StoreRule("Adoption hands over everything; what the receiver has stays") { store in
            let both = try await copy("mine", in: store)
            var finished = operation(2, someone)
            finished.state = .delivered
            finished.finishedAt = 1_700_000_000
            let alias = TargetAlias(partition: someone, temporary: Target(unchecked: "/t/hf-1"), real: nil)
            try await store.commit(
                [
                    .putCopy(key("/both"), both), .putCopy(key("/both", someone), try await copy("its", in: store)),
                    .putCopy(key("/one", someone), try await copy("one", in: store)),
                    .setPin(key("/both", someone), .high), .putOperation(operation(1, someone)),
                    .putOperation(finished), .putConflict(conflict("c", someone)),
                    .putKeyRecord(record("k", someone)), .putAlias(alias),
                ], durable: true)
            try await store.commit([.movePartition(from: someone, to: .none)], durable: true)
            let entry = try await store.entry(key("/both"))
            try require(entry?.copies == [both] && entry?.pin == .high, "\(String(describing: entry))")
            try require(try await store.entry(key("/one"))?.copies.count == 1, "an entry")
            try require(try await store.partitions().map(\.id) == [.none], "the partition is still there")
            let queue = try await store.loadQueue()
            try require(queue.operations.map(\.partition) == [.none], "an unfinished operation")
            try require(queue.conflicts.map(\.key.partition) == [.none], "a conflict")
            try require(queue.aliases.map(\.partition) == [.none], "an alias")
            try require(try await store.operation(partition: .none, key: "key2")?.id == finished.id, "a receipt")
            try require(try await store.keyRecord(partition: .none, key: "k") != nil, "a key record")
            try require(try await store.keyRecord(partition: someone, key: "k") == nil, "a key record stayed")
        },
    ]
}
