package import CacheCore

/// Answers what is not a read of /resources and /files: PUT, POST, PATCH, DELETE, and the methods that are passed on; and all
/// requests of targets that no store has open, which pass through.
///
/// Called on a task of its own, after host, web origin, token, target and policy were checked. Answers the exchange exactly once,
/// or throws before it has begun to: a `Problem`, `StoreError` or `OriginError` becomes the problem answer, an `ExchangeError` ends
/// the exchange.
package protocol WriteHandler: Sendable {
    func handle(_ request: ResourceRequest, _ exchange: any Exchange) async throws
}
