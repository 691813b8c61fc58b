package import CacheCore
import HTTPModel

/// Writes under /resources and /files (design 4 to 8). Safe from any task.
package final class WriteService: WriteHandler {
    private struct ClientKey: Hashable {
        var partition: PartitionID
        var key: String
    }

    private let context: ServiceContext
    private let flights: Flights
    private let keys = NamedTurns<ClientKey>()

    /// `flights` is the reads': a read that is under way while a write goes out does not count as one from after it.
    package init(context: ServiceContext, flights: Flights) {
        self.context = context
        self.flights = flights
    }

    package func handle(_ request: ResourceRequest, _ exchange: any Exchange) async throws {
        let key = request.head.fields["Idempotency-Key"].map { String($0.trimmingFieldSpace) }
        let upload = request.head.fields.contains("Upload") ? try await Uploaded.find(for: request, in: context) : nil
        let job = WriteJob(
            context: context, request: upload?.request ?? request, exchange: exchange, clientKey: key, flights: flights,
            upload: upload)
        if case .passing(let code) = request.place.access { return try await job.passThrough(code) }
        guard request.method.isQueueable else { return try await job.passOn() }
        guard let key else { return try await job.run() }
        // Two requests with one key at once: the second gets what the first got.
        let name = ClientKey(partition: request.key.partition, key: key)
        await keys.take(name)
        defer { keys.pass(name) }
        try await job.run()
    }
}
