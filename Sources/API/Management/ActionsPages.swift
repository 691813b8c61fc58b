import CacheCore
import HTTPModel

/// /cache/actions: jobs in the background (design 9).
extension ManagementService {
    func actionMethods(_ path: [String]) -> Methods? {
        switch path.count {
        case 0: [(.get, listActions), (.post, createAction)]
        case 1:
            [
                (.get, { .json(try await action(path[0], $0).json()) }),
                (.delete, { try await cancelAction(path[0], $0) }),
            ]
        default: nil
        }
    }

    @Sendable private func listActions(_ call: ManagementCall) async throws -> ManagementReply {
        let page = try await actions.actions(
            partitions: try call.visiblePartitions(), after: call.query["after"], limit: try call.limit())
        return ManagementCall.list(page.items.map { $0.json() }, next: page.next)
    }

    private func action(_ id: String, _ call: ManagementCall) async throws -> Action {
        guard let action = try await actions.action(id), call.maySee(action.partition) else {
            throw ManagementCall.notFound("action")
        }
        return action
    }

    @Sendable private func createAction(_ call: ManagementCall) async throws -> ManagementReply {
        let request = try ActionRequest(json: try await call.json())
        if request.isOfStores { try call.needsFull() }
        let partitions = try call.visiblePartitions()
        for target in request.targets where Secrets.hasSecretParameter(target, settings: call.settings) {
            throw Problem(.badTarget, "\(target.path) has a secret in its query: it is never kept, nor is its name.")
        }
        guard stores.mode != .no else { throw Problem(.cacheDisabled, "Set another mode than no first.") }
        let now = context.clock.now
        let action = Action(
            id: IDs.record(now: now), request: request, partition: call.partition, partitions: partitions,
            stores: try request.stores(among: stores.patterns), createdAt: now)
        // The work goes on when the client has left.
        if request.needsOrigin { context.credentials.offered(call.credentials, for: call.partition) }
        return .json(
            try await actions.submit(action).json(), status: 202, fields: ["Location": "/cache/actions/" + action.id])
    }

    private func cancelAction(_ id: String, _ call: ManagementCall) async throws -> ManagementReply {
        _ = try await action(id, call)
        guard let action = try await actions.cancel(id) else { throw ManagementCall.notFound("action") }
        return .json(action.json())
    }
}
