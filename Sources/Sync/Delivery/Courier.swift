package import CacheCore
package import HTTPModel

/// Sends one request of delivery to the origin under the right identity, and tells the network what came of it.
package struct Courier: Sendable {
    /// What came back.
    package enum Reply: Sendable {
        /// The origin's own answer; its body is still to be read or cancelled.
        case answer(OriginResponse)
        /// Nothing was sent.
        case unreachable(OriginError)
        /// Sent, or maybe sent, without a complete answer.
        case lost(OriginError)
        /// A captive portal answered; the service is offline now.
        case portal(status: Int)
        /// 401 or 407. `another`: a further credential of the identity is at hand.
        case refusedCredential(OriginResponse, another: Bool)
        /// None of the identity is known; nothing was sent.
        case noCredential
        /// The stored body can't be read; nothing was sent.
        case noBody(StoreError)
    }

    private let context: DeliveryContext

    package init(_ context: DeliveryContext) { self.context = context }

    /// - Parameters:
    ///   - fields: without credentials; Via is added here.
    ///   - body: read from the store as the origin takes it, anew at each call.
    ///   - expectsJSON: for the signs of a portal.
    package func send(
        _ method: HTTPMethod, _ target: Target, fields: HTTPFields, body: Content?, partition: PartitionID,
        expectsJSON: Bool
    ) async -> Reply {
        guard let credential = await credential(of: partition) else { return .noCredential }
        var request = OriginRequest(method: method, target: target.text, fields: fields)
        for field in credential { request.fields[field.name] = field.value }
        request.fields["Via"] = (fields.combined("Via").map { $0 + ", " } ?? "") + "1.1 holdfast"
        if context.settings.current.oracleSync { request.fields["Oracle-Mobile-Sync-Agent"] = "true" }
        do throws(StoreError) {
            request.body = try await requestBody(body)
        } catch {
            return .noBody(error)
        }
        let response: OriginResponse
        do throws(OriginError) {
            response = try await context.origin.send(request)
        } catch {
            guard case .unreachable = error else { return .lost(error) }
            context.network.connectionFailed(error)
            return .unreachable(error)
        }
        return await judge(response, credential: credential, partition: partition, expectsJSON: expectsJSON)
    }

    private func requestBody(_ body: Content?) async throws(StoreError) -> OriginRequestBody {
        guard let body else { return .none }
        if let bytes = body.inline { return .bytes(bytes) }
        return .stream(length: body.length, source: try await context.store.read(body, range: nil))
    }

    private func judge(
        _ response: OriginResponse, credential: HTTPFields, partition: PartitionID, expectsJSON: Bool
    ) async -> Reply {
        let status = response.status
        if context.network.looksLikePortal(status: status, fields: response.fields, expectsJSON: expectsJSON),
            await context.network.confirmPortal()
        {
            response.body.cancel()
            return .portal(status: status)
        }
        context.network.answered(status: status)
        guard status == 401 || status == 407 else {
            if status != 403 { context.credentials.accepted(credential, for: partition) }
            return .answer(response)
        }
        context.sources.refused(credential)
        context.credentials.refused(credential, for: partition)
        let next = await self.credential(of: partition)
        return .refusedCredential(response, another: next != nil && next != credential)
    }

    /// The credential fields to send: the configured ones of that identity, else the newest accepted; empty where none is
    /// needed; nil where one is needed and not known.
    private func credential(of partition: PartitionID) async -> HTTPFields? {
        if let configured = await context.sources.fields(for: partition) { return configured }
        if partition == .none { return context.sources.isConfigured ? nil : HTTPFields() }
        return context.credentials.fields(for: partition)
    }
}
