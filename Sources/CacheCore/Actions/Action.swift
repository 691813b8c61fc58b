import HTTPModel

/// How far an action is (design 9; seeds/semantics.md 4.3).
package enum ActionState: String, Sendable, Hashable, CaseIterable {
    /// Accepted, and not looked at yet.
    case created
    /// Waits for its turn: for a place among those that run, for its stores, or for the origin.
    case pending
    case executing
    case finished
}

/// How an action ended; `unknown` before that.
package enum ActionCompletion: String, Sendable, Hashable, CaseIterable { case unknown, successful, canceled, failed }

/// A job that works on many entries or on whole stores, in the background.
package struct Action: Sendable, Hashable {
    package let id: String
    package let request: ActionRequest
    /// Who asked for it.
    package let partition: PartitionID
    /// Whose entries it works on; nil: everybody's.
    package let partitions: [PartitionID]?
    /// The stores that no other action works on meanwhile.
    package let stores: [String]
    /// Seconds since 1970.
    package let createdAt: Double
    package var state = ActionState.created
    /// Canceled at once when somebody cancels, although the work may need a moment to end.
    package var completion = ActionCompletion.unknown
    package var progress = ActionProgress()
    /// When it first began and when it ended, seconds since 1970.
    package var startedAt: Double?
    package var finishedAt: Double?
    /// Seconds of work, without waiting.
    package var executionTime = 0.0
    /// How often it has begun: more than once where it was interrupted.
    package var starts = 0
    /// Why it failed.
    package var problem: ActionProblem?
    /// Why it waits, where that is neither its turn nor the origin: `Reason.credential`.
    package var reason: String?

    package init(
        id: String, request: ActionRequest, partition: PartitionID, partitions: [PartitionID]?, stores: [String],
        createdAt: Double
    ) {
        self.id = id
        self.request = request
        self.partition = partition
        self.partitions = partitions
        self.stores = stores
        self.createdAt = createdAt
    }
}

/// What an action has done so far.
package struct ActionProgress: Sendable, Hashable {
    /// Entries, bodies or targets that are done with, of how many; nil: not known yet.
    package var done: Int64 = 0
    package var total: Int64?
    /// Bytes that were fetched, read or written.
    package var bytes: Int64 = 0
    /// Entries that were brought up to date by asking the origin, and those for which that brought nothing.
    package var fetched: Int64 = 0
    package var failed: Int64 = 0
    /// Entries that could not be asked for: no credential of their identity is known.
    package var withoutCredential: Int64 = 0
    package var pinned: Int64 = 0
    /// Bodies that are not what was stored, and those that were mended.
    package var damaged: Int64 = 0
    package var repaired: Int64 = 0
    /// Where the work goes on after an interruption, in its own terms.
    package var position: String?

    package init() {}
}

/// A refusal as an action keeps it.
package struct ActionProblem: Sendable, Hashable {
    package var code: ProblemCode
    package var detail: String

    package init(_ code: ProblemCode, _ detail: String) {
        self.code = code
        self.detail = detail
    }
}

extension Action {
    /// As /cache/actions shows it.
    package func json() -> JSONValue {
        var json = request.json()
        json["id"] = .string(id)
        json["partition"] = .string(partition.text)
        json["stores"] = .strings(stores)
        json["state"] = .string(state.rawValue)
        json["completion"] = .string(completion.rawValue)
        json["createdAt"] = .string(Timestamp.format(createdAt))
        json["progress"] = progressJSON
        json["statistics"] = .object(omittingNil: [
            "startedAt": startedAt.map { .string(Timestamp.format($0)) },
            "finishedAt": finishedAt.map { .string(Timestamp.format($0)) },
            "executionTime": JSONValue(executionTime), "starts": JSONValue(starts),
            "fetched": JSONValue(progress.fetched), "failed": JSONValue(progress.failed),
            "withoutCredential": JSONValue(progress.withoutCredential),
            "pinned": JSONValue(progress.pinned), "damaged": JSONValue(progress.damaged),
            "repaired": JSONValue(progress.repaired),
        ])
        json["reason"] = reason.map { .string($0) }
        json["problem"] = problem.map {
            .object([
                "type": .string("/problems/" + $0.code.slug), "title": .string($0.code.meaning.title),
                "detail": .string($0.detail),
            ])
        }
        return json
    }

    /// What an event tells of it.
    package func eventJSON() -> JSONValue {
        .object(omittingNil: [
            "id": .string(id), "action": .string(request.type.rawValue), "partition": .string(partition.text),
            "state": .string(state.rawValue), "reason": reason.map { .string($0) },
            "completion": .string(completion.rawValue), "progress": progressJSON,
        ])
    }

    private var progressJSON: JSONValue {
        .object(omittingNil: [
            "done": JSONValue(progress.done), "total": progress.total.map { JSONValue($0) },
            "bytes": JSONValue(progress.bytes),
        ])
    }
}
