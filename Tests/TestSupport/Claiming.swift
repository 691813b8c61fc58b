package import CacheCore

extension DeliveryQueue {
    /// Claims where nothing is known of any collection.
    package func claim(limit: Int, now: Double) async throws -> [Claim] {
        try await claim(limit: limit, now: now) { _ in nil }
    }
}
