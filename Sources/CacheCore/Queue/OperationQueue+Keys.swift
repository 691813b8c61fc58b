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
            return operation.state.isStopped ? .new : .unfinished(operation)
        }
        let kept = try await storeCall { () async throws(StoreError) in
            try await store.operation(partition: partition, key: key)
        }
        if let kept {
            guard kept.fingerprint(of: key) == fingerprint else { return .reused }
            switch try await last(of: kept) {
            case let last? where last.state == .delivered: return .answered(last.receiptAnswer, last)
            case let last? where !last.state.isFinal && !last.state.isStopped: return .unfinished(last)
            default: break
            }
        }
        let record = try await storeCall { () async throws(StoreError) in
            try await store.keyRecord(partition: partition, key: key)
        }
        guard let record, record.at + settings.current.receiptRetention > clock.now else { return .new }
        guard record.fingerprint == fingerprint else { return .reused }
        guard let answer = record.answer else { return .unknownOutcome(record) }
        return (200..<300).contains(answer.status) ? .answered(answer, nil) : .new
    }

    /// What the operation was replaced by in the end.
    private func last(of operation: Operation) async throws -> Operation? {
        var last = operation
        while last.state == .superseded {
            guard let id = last.supersededBy else { return nil }
            if let current = self.operation(id) { return current }
            let next = try await storeCall { () async throws(StoreError) in try await store.operation(id) }
            guard let next else { return nil }
            last = next
        }
        return last
    }

    /// The operation that a repeat of the draft under its key means; nil where it is to be executed.
    func repeated(_ draft: WriteDraft) async throws -> Operation? {
        guard let key = draft.idempotencyKey else { return nil }
        switch try await lookUp(key: key, fingerprint: draft.fingerprint, of: draft.key.partition) {
        case .unfinished(let operation): return operation
        case .answered(_, let operation): return operation
        case .reused:
            throw Problem(.keyReused, "Send this request with another Idempotency-Key: this one named another request.")
        case .unknownOutcome: return nil
        case .new:
            // A POST that stopped is executed again as itself; a PUT, PATCH or DELETE replaces what stopped.
            let name = LaneBook.Name(key, of: draft.key.partition)
            let stopped = book.withLock { $0.operation(under: name) }
            guard let stopped, stopped.kind == .create || stopped.kind == .action else { return nil }
            return try await retry(stopped.id)
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

    /// The origin's answer, or where it was found out without one that it is in effect, what the method usually gets.
    fileprivate var receiptAnswer: KeptAnswer {
        lastAnswer ?? KeptAnswer(status: kind == .create ? 201 : method == .delete ? 204 : 200, fields: HTTPFields())
    }
}
