package import CacheCore

/// Answers /cache, /metrics, /health, /problems and /openapi.yaml.
///
/// Called on a task of its own after host, web origin and token were checked: with `.open` only for the open pages, with
/// `.readOnly` only for safe methods. Answers exactly once, or throws before it has begun to (see `WriteHandler`).
package protocol ManagementHandler: Sendable {
    /// `path` is the request's path as received, without the query (`/cache/entries`); `query` its parameters.
    func handle(_ exchange: any Exchange, path: String, query: QueryParameters, access: Access) async throws
}
