import HTTPModel
import Synchronization

/// The server tags that delivered edits got, by their `hf-` tags: a few thousand. Others are found in the receipts.
struct DeliveredTags: Sendable {
    private static let limit = 4096
    private var tags: [String: String] = [:]
    private var order: [String] = []
    private var oldest = 0

    subscript(own: String) -> String? { tags[own] }

    mutating func note(_ own: String, is server: String) {
        if tags.updateValue(server, forKey: own) != nil { return }
        if order.count < Self.limit {
            order.append(own)
        } else {
            tags[order[oldest]] = nil
            order[oldest] = own
            oldest = (oldest + 1) % Self.limit
        }
    }
}

extension OperationQueue {
    package func serverTag(forDelivered hfTag: String, of key: EntryKey) async -> String? {
        if let tag = deliveredTags.withLock({ $0[hfTag] }) { return tag }
        guard let id = IDs.operation(ofTag: hfTag), let found = try? await store.operation(id),
            found.state == .delivered, found.partition == key.partition, found.tag.hasSameBytes(as: hfTag),
            let tag = found.lastAnswer?.fields["ETag"]
        else { return nil }
        deliveredTags.withLock { $0.note(hfTag, is: tag) }
        return tag
    }

    package func lookUp(key: String, fingerprint: Digest, of partition: PartitionID) async throws -> KeyLookup {
        let name = LaneBook.Name(key, of: partition)
        if let operation = book.withLock({ $0.operation(under: name) }) {
            guard operation.fingerprint(of: key) == fingerprint else { return .reused }
            return operation.meaningOfRepeat
        }
        let kept = try await storeCall { () async throws(StoreError) in
            try await store.operation(partition: partition, key: key)
        }
        var dropped: Operation?
        if let kept {
            guard kept.fingerprint(of: key) == fingerprint else { return .reused }
            let last = try await last(of: kept)
            switch last.state {
            case .delivered: return .answered(last.receiptAnswer, last)
            case .superseded, .cancelled: dropped = last
            // Another write that took its place, which is not tried again by this one's repeat.
            default: return .accepted(last)
            }
        }
        let record = try await storeCall { () async throws(StoreError) in
            try await store.keyRecord(partition: partition, key: key)
        }
        guard let record, record.at + settings.current.receiptRetention > clock.now else {
            return dropped.map { .accepted($0) } ?? .new
        }
        guard record.fingerprint == fingerprint else { return .reused }
        guard let answer = record.answer else { return .unknownOutcome(record) }
        return .answered(answer, nil)
    }

    /// What the operation was replaced by in the end, as far as that is known.
    private func last(of operation: Operation) async throws -> Operation {
        var last = operation
        while last.state == .superseded, let id = last.supersededBy {
            if let current = self.operation(id) { return current }
            let next = try await storeCall { () async throws(StoreError) in try await store.operation(id) }
            guard let next else { break }
            last = next
        }
        return last
    }

    package func tryAgain(_ stopped: Operation) async throws -> Operation {
        do { return try await retry(stopped.id) } catch let problem as Problem
            where problem.code == .notFailed || problem.code == .notFound
        {
            // Another repeat, or a hand, may have been faster.
            let current = try await storeCall { () async throws(StoreError) in try await store.operation(stopped.id) }
            guard let current, !current.state.isStopped else { throw problem }
            return current
        }
    }

    /// The operation that a repeat of the draft under its key means; nil where it is to be executed.
    func repeated(_ draft: WriteDraft) async throws -> Operation? {
        guard let key = draft.idempotencyKey else { return nil }
        switch try await lookUp(key: key, fingerprint: draft.fingerprint, of: draft.key.partition) {
        case .accepted(let operation): return operation
        case .stopped(let operation): return try await tryAgain(operation)
        case .answered(_, let operation): return operation
        case .reused:
            throw Problem(.keyReused, "Send this request with another Idempotency-Key: this one named another request.")
        case .unknownOutcome, .new: return nil
        }
    }
}

extension Operation {
    /// The fingerprint of the request that brought the key.
    func fingerprint(of key: String) -> Digest? {
        guard let index = keys.firstIndex(of: key), index < fingerprints.count else {
            return nil
        }
        return fingerprints[index]
    }

    /// What a repeat of a request that it answers for means, while it is not final. A repeat decides nothing: what is in conflict stays
    /// so, but for a POST, which overwrites nothing.
    fileprivate var meaningOfRepeat: KeyLookup {
        switch state {
        case .failed: .stopped(self)
        case .conflict where kind == .create || kind == .action: .stopped(self)
        default: .accepted(self)
        }
    }

    /// The origin's answer, or where it was found out without one that it is in effect, what the method usually gets.
    fileprivate var receiptAnswer: KeptAnswer {
        lastAnswer ?? KeptAnswer(status: kind == .create ? 201 : method == .delete ? 204 : 200, fields: HTTPFields())
    }
}
