/// The SDK's fetch policies and HTTP_CACHE (design 2, seeds/semantics 1.2).
package enum FetchPolicy: String, Sendable, Hashable, CaseIterable {
    /// Never asks the origin: 404 where nothing is stored.
    case fetchFromCache = "FETCH_FROM_CACHE"
    /// Always asks it: 503 without a connection, whatever is stored.
    case fetchFromService = "FETCH_FROM_SERVICE"
    case fetchFromServiceIfOnline = "FETCH_FROM_SERVICE_IF_ONLINE"
    /// An expired copy is an answer too, but for one that a write has made out of date.
    case fetchFromServiceOnCacheMiss = "FETCH_FROM_SERVICE_ON_CACHE_MISS"
    /// An expired copy is none: 503 without a connection.
    case fetchFromServiceOnCacheMissOrExpiry = "FETCH_FROM_SERVICE_ON_CACHE_MISS_OR_EXPIRY"
    /// As FETCH_FROM_CACHE, and the origin is asked in the background.
    case fetchFromCacheScheduleRefresh = "FETCH_FROM_CACHE_SCHEDULE_REFRESH"
    /// A fresh copy at once, with the origin asked in the background; else the origin's answer.
    case fetchWithRefresh = "FETCH_WITH_REFRESH"
    /// RFC 9111 decides, but for `offlineReads`.
    case httpCache = "HTTP_CACHE"
}

/// Whether HTTP_CACHE may answer stale while the origin can't (design 2).
package enum OfflineReads: String, Sendable, Hashable, CaseIterable {
    /// A stored 2xx whatever its directives, also after 5xx and `timeouts.stale`.
    case allowStale = "ALLOW_STALE"
    /// To the letter of RFC 9111 4.2.4.
    case honourOrigin = "HONOUR_ORIGIN"
}

/// When a copy counts as expired. Under HTTP_CACHE it replaces the freshness lifetime alone: directives still hold.
package enum ExpirationPolicy: String, Sendable, Hashable, CaseIterable {
    /// Fresh until the process ends.
    case expireOnRestart = "EXPIRE_ON_RESTART"
    /// Fresh for `expireAfter` seconds since it was fetched or validated.
    case expireAfter = "EXPIRE_AFTER"
    case neverExpire = "NEVER_EXPIRE"
    /// What the origin says, or the heuristics of RFC 9111 4.2.2.
    case httpFreshness = "HTTP_FRESHNESS"
}

/// When a copy without pin, edit, operation or conflict may go.
package enum EvictionPolicy: String, Sendable, Hashable, CaseIterable {
    /// At a start, once it has expired; never while running, even where the store is full.
    case evictOnExpiryAtStartup = "EVICT_ON_EXPIRY_AT_STARTUP"
    /// By a call of /cache alone.
    case manualEviction = "MANUAL_EVICTION"
    /// The least recently used first.
    case evictWhenFull = "EVICT_WHEN_FULL"
}

/// What becomes of a write while the origin is unreachable.
package enum UpdatePolicy: String, Sendable, Hashable, CaseIterable {
    /// 503; nothing is kept.
    case updateIfOnline = "UPDATE_IF_ONLINE"
    case queueIfOffline = "QUEUE_IF_OFFLINE"
}

/// What becomes of a write that the origin refuses with 409 or 412 (design 6).
package enum ConflictResolutionPolicy: String, Sendable, Hashable, CaseIterable {
    /// Sent again on the version that is there, three rounds at most. A POST never is.
    case clientWins = "CLIENT_WINS"
    /// The edit is dropped, readable in the conflict's record.
    case serverWins = "SERVER_WINS"
    case preserveConflict = "PRESERVE_CONFLICT"
}

/// What a POST is (design 4).
package enum PostPolicy: String, Sendable, Hashable, CaseIterable {
    /// It makes a member of the collection at its target, which has a temporary target until it is delivered.
    case create
    /// It has no entry, keeps its order among the writes of its target, and is never merged.
    case action
    /// It is never queued.
    case never
}

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

    /// Sets nothing.
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
    /// Seconds; only with EXPIRE_AFTER. Where no layer sets it, it is as long as can be, as the SDK has it.
    package var expireAfter = Int64(Freshness.forever)
    package var evictionPolicy: EvictionPolicy = .evictWhenFull
    package var updatePolicy: UpdatePolicy = .queueIfOffline
    package var conflictResolutionPolicy: ConflictResolutionPolicy = .preserveConflict
    /// Nothing is stored, and offline writes are refused.
    package var noCache = false
    /// Whether `Cache-Control: no-store` of an answer holds under every fetch policy. That of a request always does.
    package var respectNoStore = true
    /// nil: `create` for a collection, `action` for an item or file target.
    package var post: PostPolicy?
    /// Whether a write without a precondition gets the base's validator as one (design 4, "Guard").
    package var guardsWrites = true
    /// Statuses (500 to 599) that count as offline when they answer a write; after 502 and 504 its outcome is unknown.
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
