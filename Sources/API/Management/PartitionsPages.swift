import CacheCore
import HTTPModel

/// /cache/partitions (design 4, "Whose").
extension ManagementService {
    func partitionMethods(_ path: [String]) -> Methods? {
        switch path.count {
        case 0: [(.get, partitions)]
        case 1: [(.get, { try await partition(path[0], $0) })]
        case 2 where path[1] == "adopt": [(.post, { try await adopt(path[0], $0) })]
        default: nil
        }
    }

    private func visible(_ call: ManagementCall) async throws -> [JSONValue] {
        try await context.store.partitions().filter { call.maySee($0.id) }.map { partition in
            .object([
                "id": .string(partition.id.text), "entries": JSONValue(partition.entries),
                "own": .bool(partition.id == call.partition),
            ])
        }
    }

    @Sendable private func partitions(_ call: ManagementCall) async throws -> ManagementReply {
        ManagementCall.list(try await visible(call), next: nil)
    }

    private func partition(_ id: String, _ call: ManagementCall) async throws -> ManagementReply {
        guard let found = try await visible(call).first(where: { $0["id"]?.string == id }) else {
            throw ManagementCall.notFound("partition")
        }
        return .json(found)
    }

    /// Hands all of that partition to the one of the credential that the request carries.
    private func adopt(_ text: String, _ call: ManagementCall) async throws -> ManagementReply {
        try call.needsFull()
        guard let from = PartitionID(text: text), from != .none else { throw ManagementCall.notFound("partition") }
        guard call.partition != .none else {
            throw Problem(.credentialUnproven, "Send the request with the credential that is to take over.")
        }
        guard from != call.partition else { throw Problem(.badRequest, "This partition is the credential's own.") }
        try await context.queue.adopt(from: from, to: call.partition)
        return .json(.object(["from": .string(from.text), "to": .string(call.partition.text)]))
    }
}
