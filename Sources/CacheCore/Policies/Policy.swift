/// The SDK's fetch policies and HTTP_CACHE (design 2, seeds/semantics 1.2).
package enum FetchPolicy: String, Sendable, Hashable, CaseIterable {
    case fetchFromCache = "FETCH_FROM_CACHE"
    case fetchFromService = "FETCH_FROM_SERVICE"
    case fetchFromServiceIfOnline = "FETCH_FROM_SERVICE_IF_ONLINE"
    case fetchFromServiceOnCacheMiss = "FETCH_FROM_SERVICE_ON_CACHE_MISS"
    case fetchFromServiceOnCacheMissOrExpiry = "FETCH_FROM_SERVICE_ON_CACHE_MISS_OR_EXPIRY"
    case fetchFromCacheScheduleRefresh = "FETCH_FROM_CACHE_SCHEDULE_REFRESH"
    case fetchWithRefresh = "FETCH_WITH_REFRESH"
    case httpCache = "HTTP_CACHE"
}

/// Whether HTTP_CACHE may answer stale while the origin can't (design 2).
package enum OfflineReads: String, Sendable, Hashable, CaseIterable {
    case allowStale = "ALLOW_STALE"
    case honourOrigin = "HONOUR_ORIGIN"
}

package enum ExpirationPolicy: String, Sendable, Hashable, CaseIterable {
    case expireOnRestart = "EXPIRE_ON_RESTART"
    case expireAfter = "EXPIRE_AFTER"
    case neverExpire = "NEVER_EXPIRE"
    case httpFreshness = "HTTP_FRESHNESS"
}

package enum EvictionPolicy: String, Sendable, Hashable, CaseIterable {
    case evictOnExpiryAtStartup = "EVICT_ON_EXPIRY_AT_STARTUP"
    case manualEviction = "MANUAL_EVICTION"
    case evictWhenFull = "EVICT_WHEN_FULL"
}

package enum UpdatePolicy: String, Sendable, Hashable, CaseIterable {
    case updateIfOnline = "UPDATE_IF_ONLINE"
    case queueIfOffline = "QUEUE_IF_OFFLINE"
}

package enum ConflictResolutionPolicy: String, Sendable, Hashable, CaseIterable {
    case clientWins = "CLIENT_WINS"
    case serverWins = "SERVER_WINS"
    case preserveConflict = "PRESERVE_CONFLICT"
}

/// What a POST is (design 4).
package enum PostPolicy: String, Sendable, Hashable, CaseIterable { case create, action, never }

/// One layer of policy fields: what a request, an entry, a pattern or a default sets. Fields that are nil fall to the next layer.
package struct PolicyLayer: Sendable, Hashable {
    package var fetchPolicy: FetchPolicy?
    package var offlineReads: OfflineReads?
    package var expirationPolicy: ExpirationPolicy?
    /// Seconds, 0 or more.
    package var expireAfter: Int64?
    package var evictionPolicy: EvictionPolicy?
    package var updatePolicy: UpdatePolicy?
    package var conflictResolutionPolicy: ConflictResolutionPolicy?
    package var noCache: Bool?
    package var respectNoStore: Bool?
    package var post: PostPolicy?
    package var guardsWrites: Bool?
    package var queueOnStatus: [Int]?

    package init() {}

    package var isEmpty: Bool { self == PolicyLayer() }

    /// Takes the fields that the other sets.
    package mutating func take(_ other: PolicyLayer) {
        fetchPolicy = other.fetchPolicy ?? fetchPolicy
        offlineReads = other.offlineReads ?? offlineReads
        expirationPolicy = other.expirationPolicy ?? expirationPolicy
        expireAfter = other.expireAfter ?? expireAfter
        evictionPolicy = other.evictionPolicy ?? evictionPolicy
        updatePolicy = other.updatePolicy ?? updatePolicy
        conflictResolutionPolicy = other.conflictResolutionPolicy ?? conflictResolutionPolicy
        noCache = other.noCache ?? noCache
        respectNoStore = other.respectNoStore ?? respectNoStore
        post = other.post ?? post
        guardsWrites = other.guardsWrites ?? guardsWrites
        queueOnStatus = other.queueOnStatus ?? queueOnStatus
    }
}

/// A policy with every field decided.
package struct Policy: Sendable, Hashable {
    package var fetchPolicy: FetchPolicy = .httpCache
    package var offlineReads: OfflineReads = .allowStale
    package var expirationPolicy: ExpirationPolicy = .httpFreshness
    package var expireAfter: Int64 = 0
    package var evictionPolicy: EvictionPolicy = .evictWhenFull
    package var updatePolicy: UpdatePolicy = .queueIfOffline
    package var conflictResolutionPolicy: ConflictResolutionPolicy = .preserveConflict
    package var noCache = false
    package var respectNoStore = true
    /// nil: `create` for a collection, `action` for an item or file target.
    package var post: PostPolicy?
    package var guardsWrites = true
    package var queueOnStatus: [Int] = []

    /// The built-in default.
    package init() {}

    /// Each field from the first layer that sets it, else the built-in default.
    package init(layers: [PolicyLayer]) {
        self.init()
        for layer in layers.reversed() { take(layer) }
    }

    /// Each field that the layer sets.
    package mutating func take(_ layer: PolicyLayer) {
        fetchPolicy = layer.fetchPolicy ?? fetchPolicy
        offlineReads = layer.offlineReads ?? offlineReads
        expirationPolicy = layer.expirationPolicy ?? expirationPolicy
        expireAfter = layer.expireAfter ?? expireAfter
        evictionPolicy = layer.evictionPolicy ?? evictionPolicy
        updatePolicy = layer.updatePolicy ?? updatePolicy
        conflictResolutionPolicy = layer.conflictResolutionPolicy ?? conflictResolutionPolicy
        noCache = layer.noCache ?? noCache
        respectNoStore = layer.respectNoStore ?? respectNoStore
        post = layer.post ?? post
        guardsWrites = layer.guardsWrites ?? guardsWrites
        queueOnStatus = layer.queueOnStatus ?? queueOnStatus
    }
}
