import HTTPModel
import Synchronization

/// One event as listeners get it: what they are told and no more, so that a ring of them holds no bodies and no header fields.
///
/// It is encoded when the first listener takes it, once for all of them; without listeners never.
package final class EventRecord: Sendable {
    /// Counts the events of this start of the service, from 1.
    package let number: Int64
    /// Whose it is; nil: everybody's.
    package let partition: PartitionID?
    private let epoch: Int64
    private let at: Double
    private let subject: Subject
    private let encoded = Mutex<[UInt8]?>(nil)

    private enum Subject: Sendable {
        case operation(OperationID, OperationChange)
        case entry(Target, state: String, deleted: Bool)
        case conflict(id: String, Target, ConflictKind, closed: Bool)
        case network(from: String, to: String)
        case store(name: String, state: String)
        case settings(ServiceSetting)
        case action(JSONValue)
    }

    private struct OperationChange: Sendable {
        var target: Target
        var newTarget: Target?
        var from: OperationState?
        var to: OperationState
        var status: Int?
        var problem: String?
    }

    /// `epoch` counts starts of the service, so that no id comes twice. `at` in seconds since 1970.
    package init(_ event: Event, number: Int64, epoch: Int64, at: Double) {
        self.number = number
        self.epoch = epoch
        self.at = at
        switch event {
        case .operation(let operation, let from):
            partition = operation.partition
            subject = .operation(
                operation.id,
                OperationChange(
                    target: operation.lane.target, newTarget: operation.newTarget, from: from, to: operation.state,
                    status: operation.state == .pending ? nil : operation.lastAnswer?.status,
                    problem: operation.reason))
        case .entry(let key, let state, let deleted):
            partition = key.partition
            subject = .entry(key.target, state: state, deleted: deleted)
        case .conflict(let conflict):
            partition = conflict.key.partition
            subject = .conflict(
                id: conflict.id, conflict.key.target, conflict.kind, closed: conflict.closedAt != nil)
        case .network(let from, let to):
            partition = nil
            subject = .network(from: from, to: to)
        case .store(let name, let state):
            partition = nil
            subject = .store(name: name, state: state)
        case .settings(let name):
            partition = nil
            subject = .settings(name)
        case .action(let action):
            partition = action.partition
            subject = .action(action.eventJSON())
        }
    }

    /// As one server-sent event: id, event and one line of data.
    package var bytes: [UInt8] {
        encoded.withLock { encoded in
            if let encoded { return encoded }
            let (type, members) = content
            let made = EventText.event(id: EventID(epoch: epoch, number: number), type: type, at: at, members)
            encoded = made
            return made
        }
    }

    private var content: (type: String, members: JSONValue) {
        let partition: JSONValue = .string(partition?.text ?? "")
        switch subject {
        case .operation(let id, let change):
            return (
                "operation",
                .object(omittingNil: [
                    "id": .string(id.text), "target": .string(change.target.text),
                    "newTarget": change.newTarget.map { .string($0.text) }, "partition": partition,
                    "from": change.from.map { .string($0.rawValue) } ?? .null, "to": .string(change.to.rawValue),
                    "status": change.status.map { JSONValue($0) }, "problem": change.problem.map { .string($0) },
                ])
            )
        case .entry(let target, let state, let deleted):
            return (
                "entry",
                .object([
                    "target": .string(target.text), "partition": partition, "state": .string(state),
                    "deleted": .bool(deleted),
                ])
            )
        case .conflict(let id, let target, let kind, let closed):
            return (
                "conflict",
                .object([
                    "id": .string(id), "target": .string(target.text), "partition": partition,
                    "kind": .string(kind.rawValue), "closed": .bool(closed),
                ])
            )
        case .network(let from, let to):
            return ("network", .object(["from": .string(from), "to": .string(to)]))
        case .store(let name, let state):
            return ("store", .object(["name": .string(name), "state": .string(state)]))
        case .settings(let name): return ("settings", .object(["name": .string(name.rawValue)]))
        case .action(let members): return ("action", members)
        }
    }
}
